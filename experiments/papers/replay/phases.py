"""The tables of phases: the time of each in a round, its share, and whether all add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import Table

SAMPLING, REST, WHOLE = "sampling", "rest", "whole"

UPDATE = {SAMPLING: 61, "target Q": 21, "Q loss": 10, "P loss": 8}
"""Phases of an update, and their percentages in Figure 4 of Gogineni et al. (2023)."""

PHASES = ("actions", "environment", *UPDATE, "soft update", REST)
"""All phases of a round."""

_MOST_MISSING = 0.03
# A table of more columns would not fit 80 characters.
_COLUMNS = 6
_FOLDS = str.maketrans(" _", "\n\n")


@dataclass(frozen=True)
class Phase:
    """The mean times of a phase, or of the whole of a round, in milliseconds."""

    agents: int
    variant: str
    layout: str
    sampler: str
    copies: int
    one_by_one: bool
    learner: str
    dtype: str
    entries: int
    batch: int
    rounds: int
    replay_gib: float
    weights: str
    phase: str
    wall_ms: float
    cpu_ms: float


_Training = dict[str, Phase]


def print_phases(rows: Sequence[Phase]) -> bool:
    """Print the tables and what the phases sum to; return whether that is the whole."""
    trainings: dict[tuple[int, str], _Training] = {}
    for row in rows:
        trainings.setdefault((row.agents, row.variant), {})[row.phase] = row
    every = list(trainings.values())
    for start in range(0, len(every), _COLUMNS):
        _print(every[start : start + _COLUMNS], every)
    sums = [sum(each[phase].cpu_ms for phase in PHASES) / each[WHOLE].cpu_ms for each in every]
    complete = all(abs(share - 1) <= _MOST_MISSING for share in sums)
    print_lines(
        f"phases sum to {100 * min(sums):.1f} to {100 * max(sums):.1f} % of the CPU time: "
        f"{'within' if complete else 'NOT within'} {100 * _MOST_MISSING:.0f} %"
    )
    return complete


def _print(trainings: Sequence[_Training], every: Sequence[_Training]) -> None:
    wholes = [each[WHOLE] for each in trainings]
    one = wholes[0]
    first = {each[WHOLE].agents: each[WHOLE].cpu_ms for each in reversed(every)}
    print_lines(
        f"{one.learner}, {one.entries:,} entries, batches of {one.batch:,}: CPU ms of a round"
    )
    Table(
        "",
        ("agents",),
        [f"{each.agents}\n{each.variant.translate(_FOLDS)}" for each in wholes],
        [
            *((phase, *(_part(each, phase) for each in trainings)) for phase in PHASES),
            (WHOLE, *(_ms(each.cpu_ms) for each in wholes)),
            ("wall time", *(_ms(each.wall_ms) for each in wholes)),
            ("times faster", *(f"{first[each.agents] / each.cpu_ms:.2f}" for each in wholes)),
            *(
                (f"{phase} ({share})", *(_part_of_update(each, phase) for each in trainings))
                for phase, share in UPDATE.items()
            ),
        ],
    ).print()
    print_lines(f"means of {one.rounds - 1} rounds; times faster than the first of as many agents")
    print_lines("last four: % of their sum (and in Figure 4 of Gogineni et al.)", "")


def _part(training: _Training, phase: str) -> str:
    milliseconds = training[phase].cpu_ms
    return f"{_ms(milliseconds)} {100 * milliseconds / training[WHOLE].cpu_ms:2.0f}%"


def _part_of_update(training: _Training, phase: str) -> str:
    return f"{100 * training[phase].cpu_ms / sum(training[each].cpu_ms for each in UPDATE):.0f}"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.{0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2}f}"
