"""Fig. 6: numbers of agents, and clustered against random and reversed grouping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import product

import numpy as np

from experiments.cells import Finished
from experiments.csv_files import write_csv
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.curves import log_spaced
from experiments.paper.fig5 import LAYERS
from experiments.paper.fig6_section import (
    CURVES,
    DUELS,
    EVERY,
    NUMBERS,
    PRINTED,
    RIVALS,
    VALID,
    make_section,
)
from experiments.paper.item import Item, Places, Run, Scale, Section
from experiments.paper.ratio_rows import RatioRow, ratio_rows
from experiments.paper.reach import windows_of
from experiments.paper.searches import goal
from experiments.paper.variants import ALL, Variant, duels, numbers, rivals, variants
from experiments.stats import Floats, stratified_interval
from experiments.windows import reference
from maestro_env.problem import OK

_WARM_UP = 20_000


class Fig6(Item):
    """The final learner with other agents."""

    name = "fig6"
    title = "Fig. 6: how many agents, and which parameters share one"

    def runs(self, scale: Scale) -> Iterable[Run]:
        problems = product(LAYERS, scale.objectives, scale.hardware)
        for (layer, objective, hardware), variant in product(problems, variants(scale.agents)):
            for seed in range(scale.seeds):
                yield Run(layer, objective, variant.mapper, seed, scale.samples, hardware)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)
        made = variants(scale.agents)
        header = ("hardware", *Variant.header(), *(field.name for field in fields(RatioRow)))
        for name, pairs in (
            (NUMBERS, [(variant, ALL) for variant in made]),
            (DUELS, duels(scale.agents)),
        ):
            rows = (row for pair in pairs for row in _ratios(arenas, *pair, scale))
            write_csv(places.results / name, header, rows)
        rivalry = (
            [base.agents, *variant.row(), *astuple(row)]
            for variant, base in rivals(scale.agents, PRINTED)
            for row in ratio_rows(arenas, variant.mapper, base.mapper, scale.checkpoints)
        )
        write_csv(places.results / RIVALS, ("to", *header[1:]), rivalry)
        write_csv(places.results / VALID, ("layer", "hardware", "valid", "of"), _valid(scale))
        write_csv(
            places.results / CURVES,
            (*Variant.header(), "samples", "share", "low", "high"),
            (row for variant in numbers(scale.agents) for row in _curve(arenas, variant)),
        )

    def section(self, places: Places) -> Section:
        return make_section(places)


def _ratios(
    arenas: Sequence[Arena], variant: Variant, base: Variant, scale: Scale
) -> Iterator[list[object]]:
    for hardware in (EVERY, *scale.hardware):
        here = [arena for arena in arenas if hardware in (EVERY, arena.hardware)]
        for row in ratio_rows(here, variant.mapper, base.mapper, scale.checkpoints):
            yield [hardware, *variant.row(), *astuple(row)]


def _valid(scale: Scale) -> Iterator[list[object]]:
    """Yield how many of such random mappings as groups are learnt from are valid."""
    for layer, hardware in product(LAYERS, scale.hardware):
        problem = goal(Run(layer, scale.objectives[0], ALL.mapper, 0, 1, hardware)).problem
        points = problem.space.sample(_WARM_UP, np.random.default_rng(0))
        valid = np.count_nonzero(problem.evaluate(points).status == OK)
        yield [layer, hardware, valid, _WARM_UP]


def _curve(arenas: Sequence[Arena], variant: Variant) -> Iterator[list[object]]:
    """Yield the mean return in some windows, and its interval."""
    there = [arena for arena in arenas if arena.has(variant.mapper)]
    if there:
        ends = windows_of(there[0].contest.searches[variant.mapper][0]).ends
        kept = log_spaced(len(ends))
        for end, *figures in zip(ends[kept], *mean_share(there, variant.mapper, kept), strict=True):
            yield [*variant.row(), end, *(f"{each:.4f}" for each in figures)]


def mean_share(
    arenas: Sequence[Arena], mapper: str, windows: Sequence[int]
) -> tuple[Floats, Floats, Floats]:
    """Return a mapper's mean return in W windows as a share of the best known's.

    Args:
        arenas: where it finished searches.
        mapper: its name.
        windows: which ones.

    Returns:
        Mean over arenas and seeds, and the ends of its interval, float64[W] each.
    """
    strata = [_shares(arena, mapper)[:, windows] for arena in arenas]
    return _mean(strata), *stratified_interval(strata, _mean)


def _shares(arena: Arena, mapper: str) -> Floats:
    contest = arena.contest
    best = reference(contest.goal) / contest.best_known
    return np.stack([windows_of(each).returns for each in contest.searches[mapper]]) / best


def _mean(strata: Sequence[Floats]) -> Floats:
    mean: Floats = np.mean([np.mean(stratum, axis=0) for stratum in strata], axis=0)
    return mean
