"""How fast actors of few bits let a policy learn: the runs and tables of ``quantise actors``.

A directory keeps a record of every run; they go seed by seed, and those of different bits follow
each other, so that a part of them treats all alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, median
from typing import Any

from maestro_env.base.checks import look_up
from maestro_env.experiments.papers.quantise.acting import EPISODES, Acted, Acting, Setup, row_times
from maestro_env.experiments.papers.quantise.speed import WIDTHS
from maestro_env.experiments.papers.quantise.tasks import ACTED
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.store.running import run_setups
from maestro_env.mappers.papers.quantised.actorq import ACTING, LEARNING

FULL = 32, 32
"""Bits that are sent and computed with in full precision."""

SHARE = 0.95
"""Of the greatest return in full precision: the goal, as in the paper."""

Key = tuple[str, float, tuple[int, int]]
"""Network, samples per insert, and bits: what seeds are averaged of."""

Found = Mapping[Key, Sequence[tuple[Setup, Acted]]]
"""Runs of one task by kind."""

_LEFT = ("network", "spi", "bits")


@dataclass(frozen=True)
class Runs:
    """What is run: everything with everything.

    Args:
        bits: that are sent and computed with.
        seeds: runs of each kind.
        others: as in ``Setup``.
    """

    tasks: Sequence[str]
    networks: Sequence[str]
    bits: Sequence[tuple[int, int]]
    spi: Sequence[float]
    actors: int
    pull: int
    seconds: float
    evaluations: int
    seeds: int

    def setups(self) -> list[Setup]:
        """Return all runs, seed by seed.

        Raises:
            UsageError, MissingExtraError, UnknownNameError: some cannot be.
        """
        for task in self.tasks:
            look_up("task of actors", task, ACTED).make()
        for network in self.networks:
            look_up("network", network, WIDTHS)
        if self.evaluations and FULL not in self.bits:
            raise UsageError("--bits: add 32; what it returns is the goal with --evaluations")
        return [
            Setup(
                *(task, network, *bits, spi),
                *(self.actors, self.pull, self.seconds, self.evaluations, seed),
            )
            for seed, task, network, spi, bits in product(
                range(self.seeds), self.tasks, self.networks, self.spi, self.bits
            )
        ]


def conduct(runs: Runs, config: Any) -> int:
    """Run what is not there yet, print tables, and return the exit status."""
    return run_setups(
        "quantise",
        config,
        {name: getattr(runs, name) for name in ("actors", "pull", "seconds", "evaluations")},
        ("torch",),
        Acting,
        runs.setups(),
        _report,
    )


def _report(works: Sequence[Acting]) -> None:
    tasks: dict[str, dict[Key, list[tuple[Setup, Acted]]]] = {}
    for work in works:
        if (acted := work.read()) is not None:
            setup = work.setup
            key = setup.network, setup.spi, (setup.sent, setup.computed)
            tasks.setdefault(setup.task, {}).setdefault(key, []).append((setup, acted))
    for task, found in tasks.items():
        (goals if works[0].setup.evaluations else rates)(task, found).print()
        phases(task, found).print()


def rates(task: str, found: Found) -> Table:
    """Return measured rates, next to those of the model."""
    rows = []
    for key, runs in found.items():
        cells: list[str] = []
        measured = [acted.rows / acted.seconds for _, acted in runs]
        for transfers in (False, True):
            times = [row_times(setup.plan, acted.alone, transfers) for setup, acted in runs]
            slower = [max(pair) for pair in times]
            ratio = median(rate * time for rate, time in zip(measured, slower, strict=True))
            cells += [significant(1 / median(slower), 3), f"{ratio:.2f}"]
        acting, learning = (median(each) for each in zip(*times, strict=True))
        load = median(acted.load for _, acted in runs)
        ends = "actors" if acting > learning else "learner", f"{load:.1f}"
        rows.append((*_named(key), len(runs), significant(median(measured), 3), *cells, *ends))
    return Table(
        f"{task}: rows a second, measured and by the model",
        _LEFT,
        ("runs", "rows/s", "1 / T", "ratio", "with\ntransfers", "ratio", "slower", "load"),
        rows,
        "medians over runs; bits: sent:computed; ratio: measured / predicted\n"
        "T = max((infer + step) / actors, learn * spi / batch), of phases measured\n"
        "alone; with transfers: and what it takes to move rows and policies",
    )


def phases(task: str, found: Found) -> Table:
    """Return where the time of actors and learner goes."""
    rows = [
        (*_named(key), *(f"{median(each):.1f}" for each in zip(*shares, strict=True)))
        for key, runs in found.items()
        for shares in [[_shares(acted) for _, acted in runs]]
    ]
    headers = (*ACTING, *LEARNING)
    title = f"{task}: phases of an actor, and of the learner, in % of the time"
    return Table(title, _LEFT, headers, rows, "medians over runs")


def goals(task: str, found: Found) -> Table:
    """Return how long it takes to come near to what full precision returns."""
    rows = []
    for (network, spi, bits), runs in found.items():
        full = found.get((network, spi, FULL))
        if full is None:
            continue
        goal = SHARE * fmean(_greatest(acted) for _, acted in full)
        before, after = ([_reached(acted, goal) for _, acted in each] for each in (full, runs))
        rows.append(
            (
                *_named((network, spi, bits)),
                f"{fmean(_greatest(acted) for _, acted in runs):.1f}",
                f"{goal:.1f}",
                ", ".join("never" if each is None else f"{each[0]:.0f}" for each in after),
                "-" if (steps := _mean(after, 1)) is None else f"{steps:,.0f}",
                significant(fmean(acted.rows / acted.seconds for _, acted in runs), 3),
                _faster(_mean(before, 0), _mean(after, 0)),
            )
        )
    return Table(
        f"{task}: time to {100 * SHARE:.0f} % of the greatest return of 32 bits",
        _LEFT,
        ("greatest", "goal", "seconds", "rows", "rows/s", "faster"),
        rows,
        f"greatest: of {EPISODES} episodes, mean over runs; seconds: of each run;\n"
        "rows: until then; faster: mean seconds of 32:32 / mean seconds",
    )


def _named(key: Key) -> tuple[str, str, str]:
    network, spi, (sent, computed) = key
    return network, f"{spi:g}", f"{sent}:{computed}"


def _shares(acted: Acted) -> list[float]:
    """Return the phases of an actor and of the learner in % of the time."""
    seconds = *acted.acting.values(), *acted.learning.values()
    return [100 * each / acted.seconds for each in seconds]


def _greatest(acted: Acted) -> float:
    return max(mean for *_, mean in acted.curve)


def _reached(acted: Acted, goal: float) -> tuple[float, int] | None:
    """Return after how many seconds and rows the return is first that of the goal, if it is."""
    return next(((when, rows) for when, rows, mean in acted.curve if mean >= goal), None)


def _mean(reached: Sequence[tuple[float, int] | None], place: int) -> float | None:
    """Return the mean of seconds or rows, if all runs have reached the goal."""
    ends = [each[place] for each in reached if each is not None]
    return fmean(ends) if len(ends) == len(reached) else None


def _faster(before: float | None, after: float | None) -> str:
    return "-" if before is None or after is None else f"{before / after:.2f}"
