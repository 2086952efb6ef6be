"""Fig. 7: how the control parameters move, and when a search has made up its mind on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from experiments.cells import Finished
from experiments.csv_files import write_csv
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.curves import log_spaced
from experiments.paper.fig7_plot import draw_trajectories
from experiments.paper.item import Claim, Item, Places, Run, Scale, Section
from experiments.paper.judging import mostly
from experiments.paper.reach import Reach, converged, factor, windows_of
from experiments.paper.rows import read_rows
from experiments.paper.settling import MOSTLY, NEAR, UNDECIDED, settled
from experiments.sheets import Sheet

_TRAJECTORIES, _SETTLING = "trajectories.csv", "settling.csv"
_LAYER, _OBJECTIVE = "mobilenetv2_l2", "latency"
# Without new starts: a trajectory is that of one team of agents.
_SINGLE, _MULTI = "ppo", "marl:patience=0"


@dataclass(frozen=True)
class Settling:
    """A parameter in the searches of a mapper.

    Args:
        samples: until it settled.
        ends: the choice each search ended with, 0 for the first and 1 for the last.
    """

    samples: Reach
    ends: tuple[float, ...]

    def alike(self, other: Settling) -> bool | None:
        """Say whether they end near each other; None if some searches do and some do not."""
        near = [abs(own - its) <= NEAR for own, its in product(self.ends, other.ends)]
        return all(near) if all(near) or not any(near) else None


Found = Mapping[str, Mapping[str, Settling]]
"""How each parameter settled, by mapper."""


class Fig7(Item):
    """Searches of one budget, whose windows are as wide, looked at parameter by parameter."""

    name = "fig7"
    title = "Fig. 7: trajectories of the control parameters"

    def runs(self, scale: Scale) -> Iterable[Run]:
        for seed in range(scale.few_seeds):
            for mapper in (_SINGLE, _MULTI):
                yield Run(_LAYER, _OBJECTIVE, mapper, seed, scale.single_agent_samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        (arena,) = make_arenas(finished, scale.single_agent_samples)
        there = [name for name in (_SINGLE, _MULTI) if arena.has(name)]
        parameters = arena.contest.goal.problem.space.parameters
        names = [each.name for each in parameters]
        columns = [f"{kind}_{name}" for kind, name in product(("mean", "spread"), names)]
        write_csv(
            places.results / _TRAJECTORIES,
            ("mapper", "samples", *columns),
            (row for name in there for row in _trajectory(name, arena)),
        )
        write_csv(
            places.results / _SETTLING,
            ("mapper", "parameter", *Reach.header(), "ends"),
            (row for name in there for row in _settling(name, arena)),
        )

    def section(self, places: Places) -> Section:
        found: dict[str, dict[str, Settling]] = {}
        for row in read_rows(places.results / _SETTLING):
            settling = Settling(Reach.of(row), tuple(map(float, row["ends"].split())))
            found.setdefault(row["mapper"], {})[row["parameter"]] = settling
        draw_trajectories(read_rows(places.results / _TRAJECTORIES), places.images / "fig7.png")
        picture = f"![Choices of every parameter against samples]({places.link}/fig7.png)"
        body = "\n\n".join((picture, _sheet(found).markdown(level=3)))
        return Section(list(_claims(found)), body)


def _trajectory(mapper: str, arena: Arena) -> Iterator[list[object]]:
    """Yield mean and spread of every parameter in each window, means over seeds."""
    windows = [windows_of(each) for each in arena.contest.searches[mapper]]
    means, spreads = (
        np.mean([getattr(each, name) for each in windows], axis=0)
        for name in ("choices", "spreads")
    )
    for index in log_spaced(len(means)):
        figures = np.concatenate((means[index], spreads[index]))
        yield [mapper, windows[0].ends[index], *(f"{each:.3f}" for each in figures)]


def _settling(mapper: str, arena: Arena) -> Iterator[list[object]]:
    parameters = arena.contest.goal.problem.space.parameters
    choices = tuple(each.choices for each in parameters)
    windows = [windows_of(each) for each in arena.contest.searches[mapper]]
    window = int(windows[0].ends[0])
    samples = np.stack([settled(each, choices) for each in windows])
    ends = np.stack([converged(each.choices) for each in windows])
    for parameter, column, last in zip(parameters, samples.T, ends.T, strict=True):
        reach = Reach(tuple(column.tolist()), arena.samples, window)
        yield [mapper, parameter.name, *reach.row(), " ".join(f"{each:.3f}" for each in last)]


def _sheet(found: Found) -> Sheet:
    names = dict.fromkeys(name for each in found.values() for name in each)
    rows = [
        [
            name,
            *(
                text
                for each in found.values()
                for text in (str(each[name].samples), f"{np.median(each[name].ends):.2f}")
            ),
        ]
        for name in names
    ]
    note = (
        f"`{_LAYER}`, least {_OBJECTIVE}, both with the same budget. Settled: at the end of the "
        f"first window (a hundredth of a search) from which on {MOSTLY:.0%} of windows have a mean "
        f"and a standard deviation of the parameter's choices within {NEAR} of those of the last "
        "tenth of the search; 0 is a "
        "parameter's first choice, 1 its last. Never, if it ends spread more widely than "
        f"{UNDECIDED:.0%} of a uniform draw: nothing was decided. `marl` begins with sizes drawn "
        "log-uniformly: one that ends small may settle at once. Median over seeds (searches in "
        "which it settled / all); > is the whole budget, <= the first window. "
        "Ends: mean choice of the last tenth, "
        "median over seeds. In the picture a line is the mean over seeds and a band the standard "
        "deviation. The choice of an order is the rank of a permutation, whose distances mean "
        "nothing."
    )
    headers = [text for mapper in found for text in (f"{mapper} settled after", "ends at")]
    return Sheet("When parameters settle", note, "parameter", headers, rows)


def _claims(found: Found) -> Iterator[Claim]:
    if not {_SINGLE, _MULTI} <= found.keys():
        return
    single, multi = found[_SINGLE], found[_MULTI]
    both = [
        name
        for name in single
        if not (single[name].samples.censored or multi[name].samples.censored)
    ]
    alike = [name for name in both if single[name].alike(multi[name])]
    apart = sum(single[name].alike(multi[name]) is False for name in both)
    enough = 2 * len(both) > len(single)
    yield Claim(
        "both approaches eventually reach similar parameter values (VI-D, Fig. 7).",
        mostly(len(alike), apart, len(both)) if enough else None,
        f"{len(both)} of {len(single)} parameters settle in both; {len(alike)} of these end within "
        f"{NEAR} of each other in all searches, {apart} in none.",
    )
    times = [factor(single[name].samples, multi[name].samples) for name in alike]
    sooner, later = sum(each.low > 1 for each in times), sum(each.high < 1 for each in times)
    yield Claim(
        "MARL reaches them significantly faster (VI-D, Fig. 7).",
        mostly(sooner, later, len(times)) if 2 * len(times) > len(single) else None,
        f"of {len(alike)} parameters that settle in both and end alike {sooner} settle sooner with "
        f"`{_MULTI}`, with the whole interval, {later} later; {_tell(_MULTI, multi)}, "
        f"{_tell(_SINGLE, single)}. With less than half of all {len(single)} nothing is decided.",
    )


def _tell(mapper: str, settling: Mapping[str, Settling]) -> str:
    samples = [each.samples.median for each in settling.values() if not each.samples.censored]
    window = max(each.samples.window for each in settling.values())
    after = "within" if samples and np.median(samples) <= window else "after"
    median = f", {after} {np.median(samples):,.0f} samples on the median" if samples else ""
    return f"`{mapper}` settles {len(samples)} of {len(settling)}{median}"
