"""``maestro-env benchmark``: run methods on problems with known optima, and score what they found.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass

from maestro_env.experiments.problems.splits import MOST_SAMPLES, SPLITS
from maestro_env.experiments.shell.flags import (
    Action,
    act,
    jobs_option,
    option,
    out_option,
    svg_option,
)
from maestro_env.workloads.finding import models

_SPLITS = "; ".join(f"{name}, {each.what}" for name, each in SPLITS.items())


@dataclass(frozen=True)
class Config:
    """Run methods on problems with known optima, and score the mappings that they found.

    An entry is a directory that run makes, or one that its author made, with card.json and a file
    for each split. docs/benchmark.md has the rules.
    """

    action: str = option(
        MISSING,
        "run METHOD: search, and keep the best mappings in --out; score ENTRY...: evaluate "
        "mappings again and compare entries; list SPLIT: print its problems, a line of JSON each",
    )
    what: tuple[str, ...] = option(
        MISSING,
        "run: a mapper with settings such as library:keep=tiles, a file of weights for the mapper "
        "prior, your own module:Class, or program:COMMAND, which speaks JSON over its standard "
        "input and output; {network} is replaced by the held network. score: directories. list: a "
        "split",
        several=True,
    )
    split: str = option("tasks", f"run, score: {_SPLITS}")
    networks: str | None = option(
        None,
        f"split ood-network: networks, or their files, separated by commas; all unless told: "
        f"{', '.join(models())}",
        value="names",
    )
    seed: int | None = option(None, "split hidden: what its problems are drawn from", kind=int)
    seeds: int | None = option(
        None, "run: searches for each problem (default: the split's)", least=1, most=1000, kind=int
    )
    samples: int | None = option(
        None,
        "run: evaluations of a search (default: the split's)",
        least=1,
        most=MOST_SAMPLES,
        kind=int,
    )
    labels: str | None = option(
        None, "run: solved training problems, for the mapper library", value="directory"
    )
    seconds: float = option(
        600.0,
        "run, score: seconds after which a search of program:COMMAND is cut off",
        least=0.1,
        most=10**6,
    )
    authors: str | None = option(None, "run: whose method it is, for the card of the entry")
    code: str | None = option(None, "run: where its code is, for the card", value="address")
    training: str | None = option(
        None,
        "run: what the method has learnt from before, for the card: none (unless told), zoo, or "
        "networks of the zoo, separated by commas; {network} stands for all but the held one",
        value="networks",
    )
    again: int = option(
        0, "score: searches of every counted entry to make again, drawn by chance", most=10**6
    )
    svg: bool = svg_option()
    jobs: int = jobs_option()
    out: str | None = out_option("the first free runs/benchmark-<n>")


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    return act(config, ACTIONS)


def _run(config: Config) -> int:
    from maestro_env.experiments.commands.benchmark.running import run  # It needs scipy.

    return run(config)


def _score(config: Config) -> int:
    from maestro_env.experiments.commands.benchmark.running import score  # It needs scipy.

    return score(config)


def _list(config: Config) -> int:
    from maestro_env.experiments.commands.benchmark.running import list_problems

    return list_problems(config)


_OF_PROBLEMS = ("split", "networks", "seed")
_OF_RUN = ("seeds", "samples", "labels", "seconds", "authors", "code", "training")
ACTIONS: Mapping[str, Action] = {
    "run": Action(_run, (*_OF_PROBLEMS, *_OF_RUN, "jobs", "out")),
    "score": Action(_score, (*_OF_PROBLEMS, "again", "seconds", "svg", "out")),
    "list": Action(_list, ("networks", "seed")),
}
