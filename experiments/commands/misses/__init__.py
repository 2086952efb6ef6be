"""``maestro-env misses``: say what a run's best mappings lack to be optima."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from experiments.commands.misses.canonical import canonical, differences
from experiments.commands.misses.neighbours import least_change
from experiments.commands.misses.optima import known_optima, prove
from experiments.search.cells import Finished
from experiments.search.goals import Goal
from experiments.shell.files import RecordError
from experiments.shell.flags import option
from experiments.shown.progress import Bar
from experiments.shown.tables import Sheet
from experiments.study.study import read_all


@dataclass(frozen=True)
class Config:
    """Compare the best mappings of a run with the optima of its problems (model exact)."""

    rundir: str = option(MISSING, "a directory of run or compare")
    nodes: int = option(10**8, "boxes of mappings that the proof of an optimum may take", least=1)


# Larger changes share a column, or a row.
_MOST_COUNTED, _MOST_TOLD = 4, 2


@dataclass(frozen=True)
class End:
    """The best mapping of a search, beside the nearest known optimum.

    Args:
        mapper: that searched.
        ratio: of its cost to the least.
        wrong: names of the parameters that differ, those of tiles without their dimension.
        change: those of the fewest parameters whose change lowers the cost; none at an optimum.
    """

    mapper: str
    ratio: float
    wrong: tuple[str, ...]
    change: tuple[str, ...]


def execute(config: Config) -> int:
    """Compare, print, and return the exit status."""
    found = read_all(Path(config.rundir))
    total = sum(len(searches) for _, searches in found)
    if not total:
        raise RecordError(f"{config.rundir} has no searches; give a directory of experiments.run")
    ends: list[End] = []
    with Bar("searches", total) as bar:
        for goal, searches in found:
            for end in _ends(goal, searches, config.nodes):
                ends.append(end)
                bar.show(len(ends), f"{goal.problem.layer.name}, {goal.objective.name}")
    if not ends:
        print("no search found a valid mapping", file=sys.stderr)
        return 0
    if len(ends) < total:
        print(f"note: {total - len(ends)} searches found no valid mapping", file=sys.stderr)
    for sheet in _sheets(ends):
        sheet.print()
    return 0


def _ends(goal: Goal, searches: Iterable[Finished], nodes: int) -> Iterator[End]:
    """Compare the best mappings of searches, where there are any, with the optimum."""
    valid = [search for search in searches if search.best_point is not None]
    if not valid:
        return
    space = goal.problem.space
    points = np.array([search.best_point for search in valid], dtype=np.int32)
    optimum, least = prove(goal, points, nodes)
    optima = known_optima(goal, optimum)
    names = [
        each.name.rpartition("_")[0] if each.kind == "tile" else each.name
        for each in space.parameters
    ]
    for search, point, same in zip(valid, points, canonical(space, points), strict=True):
        ratio = search.values[-1] / least
        wrong: Sequence[int] = ()
        change: Sequence[int] = ()
        if ratio > 1:
            differ = differences(space, same, optima)
            nearest = differ.sum(axis=1).argmin()
            wrong = np.flatnonzero(differ[nearest]).tolist()
            change = least_change(goal, point, optima[nearest])
        named = (tuple(names[column] for column in columns) for columns in (wrong, change))
        yield End(search.cell.mapper, ratio, *named)


def _sheets(ends: Sequence[End]) -> Iterator[Sheet]:
    """Yield the tables: how far off mappers end, what differs, what would improve."""
    mappers = {end.mapper: [each for each in ends if each.mapper == end.mapper] for end in ends}
    misses = {name: [end for end in found if end.change] for name, found in mappers.items()}
    rows = []
    for mapper, found in mappers.items():
        ratios = np.array([end.ratio for end in found])
        sizes = Counter(min(len(end.change), _MOST_COUNTED + 1) for end in misses[mapper])
        differ = f"{np.mean([len(end.wrong) for end in misses[mapper]] or [0]):.1f}"
        figures = (f"{np.median(ratios):.4f}", f"{ratios.max():.4f}", differ)
        counts = [sizes[size] for size in range(1, _MOST_COUNTED + 2)]
        rows.append((mapper, len(found), len(misses[mapper]), *figures, *counts))
    columns = [f"improve\nby {size}" for size in range(1, _MOST_COUNTED + 1)]
    headers = (
        "searches",
        "misses",
        "cost /\noptimum",
        "worst",
        "parameters\nthat differ",
        *columns,
    )
    yield Sheet(
        "Ends of searches",
        ("mapper",),
        (*headers, "by more"),
        rows,
        "Misses: above the optimum. Cost / optimum: median of the searches. Parameters that differ "
        "from the nearest known optimum: mean of the misses. Improve by n: misses by the "
        "least number of parameters that must change at once for a lower cost; of three or more, "
        "those changed to an optimum's values.",
    )
    yield _shares("Misses by parameters that differ", misses, lambda end: set(end.wrong))
    yield _shares("Misses by a least change that improves", misses, lambda end: {_text(end)})


def _text(end: End) -> str:
    """Return which parameters must change, and how many of each name."""
    if len(end.change) > _MOST_TOLD:
        return f"more than {_MOST_TOLD} parameters"
    counts = Counter(end.change)
    return " + ".join(f"{n} x {name}" if n > 1 else name for name, n in sorted(counts.items()))


def _shares(
    title: str, misses: Mapping[str, Sequence[End]], what: Callable[[End], set[str]]
) -> Sheet:
    """Return the table of what is true of a mapper's misses, and of which share of them."""
    told = {name: Counter(chain(*map(what, found))) for name, found in misses.items()}
    common = sum(told.values(), Counter[str]()).most_common()
    rows = [
        (one, *(f"{told[name][one] / max(len(misses[name]), 1):.0%}" for name in misses))
        for one, _ in common
    ]
    return Sheet(title, ("",), tuple(misses), rows)
