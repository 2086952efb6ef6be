"""Fig. 5: mean return against steps of MARL and of single-agent RL, and the samples both need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import product

import numpy as np

from experiments.cells import Finished
from experiments.csv_files import write_csv
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.curves import log_spaced
from experiments.paper.fig5_rows import BEST, CONVERGED, LAST, MULTI, SINGLE, Comparison
from experiments.paper.fig5_section import ENDS, RETURNS, SAMPLES, make_section
from experiments.paper.item import Item, Places, Run, Scale, Section
from experiments.paper.reach import (
    bests,
    converged_return,
    median_best,
    samples_to_cost,
    samples_to_return,
    width_of,
    windows_of,
)

LAYERS = ("mobilenetv2_l2", "vgg16_l2")
_OBJECTIVES = ("latency", "area", "edp")


class Fig5(Item):
    """Long searches of single agents, short ones of MARL."""

    name = "fig5"
    title = "Fig. 5: MARL against single-agent RL"

    def runs(self, scale: Scale) -> Iterable[Run]:
        for layer, objective in product(LAYERS, _OBJECTIVES):
            for mapper, seed in product(SINGLE, range(scale.few_seeds)):
                yield Run(layer, objective, mapper, seed, scale.single_agent_samples)
            for mapper, seed in product(MULTI, range(scale.seeds)):
                yield Run(layer, objective, mapper, seed, scale.samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        long = make_arenas(finished, scale.single_agent_samples)
        short = make_arenas(finished, scale.samples)
        pairs = list(zip(long, short, strict=True))
        write_csv(
            places.results / RETURNS,
            ("layer", "objective", "mapper", "samples", "low", "mean", "high"),
            (row for pair in pairs for row in _returns(*pair)),
        )
        write_csv(
            places.results / ENDS,
            ("layer", "objective", "mapper", "samples", "converged_return", "bests"),
            (row for pair in pairs for row in _ends(*pair)),
        )
        write_csv(
            places.results / SAMPLES,
            Comparison.header(),
            (each.row() for pair in pairs for each in compare(*pair)),
        )

    def section(self, places: Places) -> Section:
        return make_section(places)


def compare(long: Arena, short: Arena) -> Iterator[Comparison]:
    """Yield what single agents and MARL needed to reach what the single agents reached.

    Args:
        long: arena of the single agents.
        short: the same problem with MARL's searches, whose samples the best is that of.
    """
    contest = short.contest
    for single, multi in product(SINGLE, MULTI):
        if not (long.has(single) and short.has(multi)):
            continue
        slow, fast = long.contest.searches[single], contest.searches[multi]
        width = width_of(slow[0])
        mean_return = converged_return(slow)
        by_return = partial(samples_to_return, mean_return=mean_return, width=width)
        reaches = {CONVERGED: (mean_return, by_return(slow), by_return(fast))}
        for target, samples in ((BEST, short.samples), (LAST, long.samples)):
            best = median_best(slow, samples)
            reaches[target] = (best, samples_to_cost(slow, best), samples_to_cost(fast, best))
        warm_up = max(each.warm_up for each in fast)
        layer, objective = contest.layer, contest.objective
        for target, (value, needed, sooner) in reaches.items():
            yield Comparison(
                *(layer, objective, single, target, multi), value, needed, sooner, warm_up
            )


def _searches(long: Arena, short: Arena) -> Iterator[tuple[str, Arena]]:
    """Yield the mappers that finished a search, and where."""
    yield from ((mapper, long) for mapper in SINGLE if long.has(mapper))
    yield from ((mapper, short) for mapper in MULTI if short.has(mapper))


def _returns(long: Arena, short: Arena) -> Iterator[list[object]]:
    for mapper, arena in _searches(long, short):
        windows = [windows_of(each) for each in arena.contest.searches[mapper]]
        returns = np.stack([each.returns for each in windows])
        columns = returns.min(axis=0), returns.mean(axis=0), returns.max(axis=0)
        for index in log_spaced(len(windows[0].ends)):
            figures = (f"{column[index]:.4g}" for column in columns)
            end = windows[0].ends[index]
            yield [arena.contest.layer, arena.contest.objective, mapper, end, *figures]


def _ends(long: Arena, short: Arena) -> Iterator[list[object]]:
    for mapper, arena in _searches(long, short):
        contest = arena.contest
        searches = contest.searches[mapper]
        ends = " ".join(f"{each!r}" for each in bests(searches, arena.samples).tolist())
        names = contest.layer, contest.objective, mapper
        yield [*names, arena.samples, converged_return(searches), ends]
