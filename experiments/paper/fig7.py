"""Fig. 7: how the control parameters move, and when a search has made up its mind on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from itertools import product

import numpy as np

from experiments.cells import Finished
from experiments.csv_files import read_csv, write_csv
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.curves import log_spaced
from experiments.paper.fig7_plot import draw_trajectories
from experiments.paper.item import Claim, Item, Places, Run, Scale, Section
from experiments.paper.reach import Reach, converged, windows_of
from experiments.paper.settling import MOSTLY, NEAR, UNDECIDED, settled
from experiments.sheets import Sheet

_TRAJECTORIES, _SETTLING = "trajectories.csv", "settling.csv"
_LAYER, _OBJECTIVE = "mobilenetv2_l2", "latency"
# Without new starts: a trajectory is that of one team of agents.
_SINGLE, _MULTI = "ppo", "marl:patience=0"
_REACH = tuple(field.name for field in fields(Reach))


@dataclass(frozen=True)
class Settling:
    """A parameter in the searches of a mapper.

    Args:
        samples: until it settled.
        end: the choice it ended with, 0 for the first and 1 for the last, median over seeds.
    """

    samples: Reach
    end: float


Found = Mapping[str, Mapping[str, Settling]]
"""How each parameter settled, by mapper."""


class Fig7(Item):
    """The searches of Fig. 5, looked at parameter by parameter."""

    name = "fig7"
    title = "Fig. 7: trajectories of the control parameters"

    def runs(self, scale: Scale) -> Iterable[Run]:
        for seed in range(scale.few_seeds):
            yield Run(_LAYER, _OBJECTIVE, _SINGLE, seed, scale.single_agent_samples)
            yield Run(_LAYER, _OBJECTIVE, _MULTI, seed, scale.samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        budgets = {_SINGLE: scale.single_agent_samples, _MULTI: scale.samples}
        arenas = {name: make_arenas(finished, budget)[0] for name, budget in budgets.items()}
        there = {name: arena for name, arena in arenas.items() if arena.has(name)}
        parameters = next(iter(arenas.values())).contest.goal.problem.space.parameters
        names = [each.name for each in parameters]
        columns = [f"{kind}_{name}" for kind, name in product(("mean", "spread"), names)]
        write_csv(
            places.results / _TRAJECTORIES,
            ("mapper", "samples", *columns),
            (row for name, arena in there.items() for row in _trajectory(name, arena)),
        )
        write_csv(
            places.results / _SETTLING,
            ("mapper", "parameter", *_REACH, "end"),
            (row for name, arena in there.items() for row in _settling(name, arena)),
        )

    def section(self, places: Places) -> Section:
        found: dict[str, dict[str, Settling]] = {}
        for row in read_csv(places.results / _SETTLING):
            reach = Reach(float(row["median"]), *(int(row[name]) for name in _REACH[1:]))
            settling = Settling(reach, float(row["end"]))
            found.setdefault(row["mapper"], {})[row["parameter"]] = settling
        draw_trajectories(read_csv(places.results / _TRAJECTORIES), places.images / "fig7.png")
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
    samples = np.stack([settled(each, choices) for each in windows])
    ends = np.median([converged(each.choices) for each in windows], axis=0)
    for parameter, column, end in zip(parameters, samples.T, ends, strict=True):
        reach = Reach.of(column, arena.samples)
        yield [mapper, parameter.name, *astuple(reach), f"{end:.3f}"]


def _sheet(found: Found) -> Sheet:
    names = dict.fromkeys(name for each in found.values() for name in each)
    rows = [
        [
            name,
            *(
                text
                for each in found.values()
                for text in (str(each[name].samples), f"{each[name].end:.2f}")
            ),
        ]
        for name in names
    ]
    note = (
        f"`{_LAYER}`, least {_OBJECTIVE}. Settled: at the end of the first window (a hundredth of "
        f"a search) from which on {MOSTLY:.0%} of windows have a mean and a standard deviation of "
        f"the parameter's choices within {NEAR} of those of the last tenth of the search; 0 is a "
        "parameter's first choice, 1 its last. Never, if it ends spread more widely than "
        f"{UNDECIDED:.0%} of a uniform draw: nothing was decided. `marl` begins with sizes drawn "
        "log-uniformly: one that ends small may settle at once. Median over seeds (searches in "
        "which it settled / all); > is the whole budget. Ends: mean choice of the last tenth, "
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
    apart = [abs(single[name].end - multi[name].end) for name in both]
    similar = sum(each <= NEAR for each in apart)
    yield Claim(
        "both approaches eventually reach similar parameter values (VI-D, Fig. 7).",
        2 * similar > len(both) if both else None,
        f"{len(both)} of {len(single)} parameters settle in both; {similar} of these end within "
        f"{NEAR} of each other.",
    )
    sooner = sum(multi[name].samples.median < single[name].samples.median for name in single)
    yield Claim(
        "MARL reaches them significantly faster (VI-D, Fig. 7).",
        2 * sooner > len(single),
        f"{sooner} of {len(single)} parameters settle sooner with `{_MULTI}`; "
        f"{_tell(_MULTI, multi)}, {_tell(_SINGLE, single)}.",
    )


def _tell(mapper: str, settling: Mapping[str, Settling]) -> str:
    samples = [each.samples.median for each in settling.values() if not each.samples.censored]
    median = f", after {np.median(samples):,.0f} samples on the median" if samples else ""
    return f"`{mapper}` settles {len(samples)} of {len(settling)}{median}"
