"""All trainings of agents: which there are, what arms cost and return, and what they keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from maestro_env.base.checks import look_up
from maestro_env.experiments.papers.sparse.agent_arms import (
    ARMS,
    COPIES,
    DENSE,
    MAST,
    MAST_SPARSITY,
    AgentSize,
    Tuning,
)
from maestro_env.experiments.papers.sparse.agent_training import (
    RESETS,
    TASKS,
    Setup,
    Trained,
    Training,
)
from maestro_env.experiments.papers.sparse.curves import CURVES, draw_curves
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.shown.statistics import Estimate, Floats, estimate, iqm
from maestro_env.experiments.shown.tables import Table, significant, with_interval
from maestro_env.experiments.store.running import run_setups
from maestro_env.mappers.papers.value_based.qmix import LEARNERS


@dataclass(frozen=True)
class AgentTrainings:
    """What is trained: each task by each learner in each arm from each seed.

    Args:
        others: as in ``Setup``.
    """

    tasks: Sequence[str]
    learners: Sequence[str]
    arms: Sequence[str]
    seeds: Sequence[int]
    tuning: Tuning
    size: AgentSize

    def setups(self) -> list[Setup]:
        """Return all trainings, seed by seed, so that a part of them treats all arms alike.

        Raises:
            MissingExtraError, UnknownNameError, UsageError: some cannot be.
        """
        for what, names, known in (
            ("task", self.tasks, TASKS),
            ("learner", self.learners, LEARNERS),
            ("arm", self.arms, ARMS),
        ):
            for name in names:
                look_up(what, name, known)
        if self.tuning.episodes % COPIES:
            raise UsageError(
                f"--episodes {self.tuning.episodes}; allowed: multiples of {COPIES}, which are "
                "played at once"
            )
        for task in self.tasks:
            # A package may be missing.
            TASKS[task](1)
        return [
            Setup(task, learner, arm, seed, self.tuning, self.size)
            for seed, task, learner, arm in product(
                self.seeds, self.tasks, self.learners, self.arms
            )
        ]


def conduct(trainings: AgentTrainings, config: Any) -> int:
    """Train what is not there yet, print tables, and return the exit status."""
    return run_setups(
        "sparse",
        config,
        asdict(trainings.size),
        ("torch",),
        Training,
        trainings.setups(),
        lambda works: _report(works, config.svg),
    )


def _report(works: Sequence[Training], svg: bool) -> None:
    found: dict[str, Found] = {}
    for work in works:
        if (trained := work.read()) is not None:
            setup = work.setup
            title = f"{setup.learner} on {setup.task}, {setup.tuning}"
            found.setdefault(title, {}).setdefault(setup.arm, []).append(trained)
    for title, of_arms in found.items():
        print_tables(title, of_arms)
    if found:
        curves = {
            title: {arm: [each.curve for each in trained] for arm, trained in of_arms.items()}
            for title, of_arms in found.items()
        }
        png = works[0].directory / CURVES
        plot(png, lambda: draw_curves(curves, "mean return, greedy"), svg)


Found = dict[str, list[Trained]]
"""Trainings by arm."""

TIMES, LEAST = 20.0, 97.0
"""The paper's claim: so many times fewer operations, at least so many per cent of dense."""

# The rest is for acting.
_PURPOSES = ("target", "update", "grow")
_COSTS = (
    *("seeds", "TFLOPs", "times\nfewer", *(f"{purpose}\n%" for purpose in _PURPOSES)),
    *("mixer\n%", "choice\nkFLOPs", "CPU\nmin"),
)
_NOTE_OF_COSTS = (
    "FLOPs of a training, counted from masks; times fewer: than dense; target, update: of targets "
    "and of updates; grow: of the dense gradients by which links grow; the rest: of choices while "
    "training; mixer: its part of all; choice: one of all agents after the training; CPU: without "
    "evaluations"
)
_NOTE_OF_RETURNS = (
    f"return of {RESETS:,} greedy episodes after the training, interquartile mean over seeds; %: "
    "of what dense returns above random choices; 95 % bootstrap intervals over seeds. Reached: "
    f"{TIMES:g} times fewer FLOPs, and an interval above {LEAST:g} %; not reached: fewer times, "
    f"or one below it. mast of its dense: in per cent of {MAST_SPARSITY}"
)


@dataclass(frozen=True)
class Kept:
    """What an arm keeps of what dense agents return above random ones, in per cent.

    Args:
        times: dense operations / its own.
        share: of the interquartile means of their returns.
        learnt: whether all of the interval of dense agents is above random ones.
    """

    times: float
    share: Estimate
    learnt: bool

    @property
    def verdict(self) -> str:
        """Whether the paper's claim was reached."""
        if self.times < TIMES or (self.learnt and self.share.high < LEAST):
            return "not reached"
        return "reached" if self.learnt and self.share.low >= LEAST else "not decided"


def kept(dense: Sequence[Trained], arm: Sequence[Trained]) -> Kept:
    """Compare an arm with dense agents."""
    strata = [np.array([each.last for each in trained]) for trained in (dense, arm)]
    random = dense[0].random

    def figure(drawn: Sequence[Floats]) -> Floats:
        base, other = map(iqm, drawn)
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = 100 * (other - random) / (base - random)
        return share

    times, learnt = _flops(dense) / _flops(arm), bool(_mean(dense).low > random)
    return Kept(times, estimate(strata, figure), learnt)


def print_tables(title: str, found: Mapping[str, Sequence[Trained]]) -> None:
    """Print what the arms cost and what they return."""
    dense = found.get(DENSE)
    compared = {} if dense is None else {name: kept(dense, arm) for name, arm in found.items()}
    costs = [(name, *_costs(arm, compared.get(name))) for name, arm in found.items()]
    Table(title, ("arm",), _COSTS, costs, _NOTE_OF_COSTS).print()
    returns = [(name, *_returns(name, arm, compared.get(name))) for name, arm in found.items()]
    random = next(iter(found.values()))[0].random
    returns.append(("random", f"{random:.3f}", "0.0" if compared else "-", "-"))
    if MAST in found and MAST_SPARSITY in found:
        other = kept(found[MAST_SPARSITY], found[MAST])
        returns.append(("mast of its dense", "-", _share(other), other.verdict))
    headers = ("return", "% of dense", f"{TIMES:g} times\nwithin {100 - LEAST:g} %")
    Table("", ("arm",), headers, returns, _NOTE_OF_RETURNS).print()


def _costs(arm: Sequence[Trained], compared: Kept | None) -> tuple[object, ...]:
    spent = arm[0].flops
    parts = [(purpose.split(), flops / sum(spent.values())) for purpose, flops in spent.items()]
    of_purposes = [sum(part for (of, _), part in parts if of == name) for name in _PURPOSES]
    mixer = sum(part for (_, network), part in parts if network == "mixer")
    return (
        *(len(arm), significant(_flops(arm) / 1e12, 3)),
        "-" if compared is None else f"{compared.times:.1f}",
        *(f"{100 * part:.1f}" for part in (*of_purposes, mixer)),
        f"{arm[0].choosing / 1e3:.1f}",
        significant(float(np.mean([each.cpu_seconds for each in arm])) / 60, 3),
    )


def _returns(name: str, arm: Sequence[Trained], compared: Kept | None) -> tuple[str, ...]:
    mean = with_interval(_mean(arm), "{:.3f}".format)
    if compared is None:
        return mean, "-", "-"
    if name == DENSE:
        return mean, "100.0", "-"
    return mean, _share(compared), compared.verdict


def _share(compared: Kept) -> str:
    return with_interval(compared.share, "{:.1f}".format)


def _mean(arm: Sequence[Trained]) -> Estimate:
    """Return the interquartile mean of what agents return."""
    return estimate([np.array([each.last for each in arm])], lambda strata: iqm(strata[0]))


def _flops(arm: Sequence[Trained]) -> float:
    """Return the operations of a training, the mean over seeds."""
    return float(np.mean([sum(each.flops.values()) for each in arm]))
