"""Tables of scores: by group of problems, and one method against another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.commands.pretrain.benchmark.protocol import Held, Problems
from experiments.commands.pretrain.benchmark.records import read_evaluations
from experiments.commands.pretrain.benchmark.scores import (
    FIGURES,
    WORST,
    Scores,
    estimates,
    paired,
    scores_of,
)
from experiments.shell.files import write_csv, write_text
from experiments.shown.tables import Sheet
from maestro_env.base.errors import printable
from maestro_env.optimum.known import KnownOptimum
from mappers.parts.arrays import Booleans

OptimaByProblem = Mapping[str, KnownOptimum]

_HALF_WAY = 100
_TABLE = ("method", "network", "layer", "hardware", "objective", "samples", "ratio", "valid")


def report(
    directory: Path, methods: Sequence[str], problems: Problems, optima: OptimaByProblem
) -> None:
    """Print and write the tables of all methods that have a record of every network.

    Args:
        directory: of the records; it gets the tables.
        methods: the texts of those asked for, which come first and are compared with all others.
        problems: by held network.
        optima: by the keys of the problems.
    """
    found = list(read_evaluations(directory, problems))
    texts = dict.fromkeys([*methods, *sorted({each.method for each in found})])
    scores = [scores_of(text, found, problems, optima) for text in texts]
    every = [each for each in scores if each is not None]
    if not every:
        return
    sheets = [*score_sheets(every, optima), *_pairs(every, methods), _proofs(problems, optima)]
    write_text(directory / "table.md", "\n".join(sheet.markdown() for sheet in sheets))
    write_csv(directory / "problems.csv", _TABLE, _problem_rows(every))
    for sheet in sheets:
        sheet.print()
    print(printable(f"tables: {directory / 'table.md'}, a row for every problem: problems.csv"))


def _proofs(problems: Problems, optima: OptimaByProblem) -> Sheet:
    """Return how long the proofs took that the scores stand on."""
    headers = ("problems", "proven", "median s", "within 1 s", "within 60 s")
    rows = []
    for network, each in problems.items():
        found = [optima[held.key] for held in each]
        seconds = np.array([one.seconds if one.proven else np.inf for one in found])
        shares = [f"{(seconds <= most).mean():.1%}" for most in (1, 60)]
        proven = str(np.isfinite(seconds).sum())
        rows.append((network, str(len(found)), proven, f"{np.median(seconds):.3g}", *shares))
    return Sheet("Proofs", ("network",), headers, rows, "as long as each took where it was made")


def groups_of(problems: Sequence[Held], optima: OptimaByProblem) -> dict[str, Booleans]:
    """Return the groups of the protocol, bool[P] each, by name.

    They are all problems, those of each accelerator and objective, the hardest, of each network.
    """

    def by(attribute: str) -> dict[str, Booleans]:
        names = np.array([getattr(held, attribute) for held in problems], dtype=object)
        return {name: names == name for name in dict.fromkeys(names)}

    groups = {"all problems": np.full(len(problems), True)}
    proven = np.array([optima[held.key].proven for held in problems])
    if proven.any() and not proven.all():
        groups["proven optimum"] = proven
    groups |= by("machine") | by("objective")
    if {"edge", "edp"} <= groups.keys():
        groups["edge, edp"] = groups["edge"] & groups["edp"]
    networks = by("network")
    return groups | networks if len(networks) > 1 else groups


def score_sheets(every: Sequence[Scores], optima: OptimaByProblem) -> Iterator[Sheet]:
    """Yield a table of every group: value / optimum, with 95 % intervals over problems."""
    for name, group in groups_of(every[0].problems, optima).items():
        chosen = [scores.of(group) for scores in every]
        problems = chosen[0].problems
        rows = [row for scores in chosen for row in _rows(scores)]
        title = f"Value / optimum: {name}, {len(problems)} problems"
        headers = (*FIGURES, "valid")
        yield Sheet(title, ("method", "seeds", "samples"), headers, rows, _note(problems, optima))


def _rows(scores: Scores) -> Iterator[tuple[str, ...]]:
    found = estimates(scores.ratios)
    for column, count in enumerate(scores.counts):
        cells = [_cell(name, *each[:, column]) for name, each in zip(FIGURES, found, strict=True)]
        valid = f"{scores.valid[:, column].mean():.1%}"
        yield scores.method, str(scores.seeds), f"{count:,}", *cells, valid


def _cell(name: str, value: float, low: float, high: float) -> str:
    if name == "largest":
        # The resampled largest are never above it: they make no interval.
        return f"{value:.3f}"
    if name.startswith("within"):
        return f"{value:.0%} [{low:.0%}, {high:.0%}]"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _note(problems: Sequence[Held], optima: OptimaByProblem) -> str:
    unproven = sum(not optima[held.key].proven for held in problems)
    notes = [
        "brackets: 95 % intervals, bootstrap over problems",
        f"a search without a valid mapping counts as {WORST:,.0f}",
    ]
    if unproven:
        notes.append(f"{unproven} problems have no proven optimum: their lower bound stands for it")
    return "; ".join(notes)


def _pairs(every: Sequence[Scores], methods: Sequence[str]) -> Iterator[Sheet]:
    """Yield the comparison of each method asked for with all others: below 1 is better."""
    for first in every:
        others = [other for other in every if other is not first]
        if first.method in methods and others:
            yield Sheet(
                f"{first.method} / other method: geometric mean over problems",
                ("other method",),
                ("samples", "its samples", "ratio", "95 %"),
                [row for other in others for row in _pair_rows(first, other)],
            )


def _pair_rows(first: Scores, other: Scores) -> Iterator[tuple[str, ...]]:
    counts = [(count, count) for count in first.counts if count in other.counts]
    if other.counts[-1] not in first.counts and _HALF_WAY in first.counts:
        counts.append((_HALF_WAY, other.counts[-1]))
    for one, against in counts:
        ratio, low, high = paired(first.at(one), other.at(against))
        yield other.method, f"{one:,}", f"{against:,}", f"{ratio:.3f}", f"[{low:.3f}, {high:.3f}]"


def _problem_rows(every: Sequence[Scores]) -> Iterator[tuple[object, ...]]:
    """Yield a row for every method, problem and number of samples."""
    for scores in every:
        for held, ratios, valid in zip(scores.problems, scores.ratios, scores.valid, strict=True):
            facts = (scores.method, held.network, held.layer, held.machine, held.objective)
            for count, ratio, share in zip(scores.counts, ratios, valid, strict=True):
                yield *facts, count, f"{ratio:.6f}", f"{share:.4f}"
