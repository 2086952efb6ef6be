"""Table III: MARL against the other mappers on the reporting layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper import table3_view
from experiments.paper.frame import Item, Places, Scale
from experiments.paper.ledger import WARMED, Arena, Finished, Run, make_arenas
from experiments.paper.printed import CONTROLS, MARL, PAPERS, PERCENTS, TABLE_3
from experiments.paper.ratios import Ratio, cost_ratio
from experiments.paper.reach import bests, middle, samples_to_cost
from experiments.stats import Floats, bootstrap_interval, iqm

_COSTLY = ("bo", "marl_mlp")
MAPPERS = (
    *PAPERS,
    *CONTROLS,
    "ppo_box",
    "ppo_tuned",
    "marl_clustered:agents=6:grouping=random",
    "marl_mlp",
    MARL,
    "marl_clustered",
)
"""In the order of the tables."""
_SINGLE_AGENTS = ("ppo", "ppo_box")
_LONG = "ga"

_KEYS = ("model", "hardware", "layer", "objective")
_RATIO = ("of", "ratio", "low", "high", "without", "alone")
_ARRIVALS = ("median_to", "arrived_at", "expected_to")
RowOf = Sequence[object]


class Table3(Item):
    """The comparison of all mappers."""

    name = "table3"

    def runs(self, scale: Scale) -> Iterator[Run]:
        for hardware, layer, objective in product(scale.hardware, scale.layers, scale.objectives):
            for mapper in MAPPERS:
                for seed in range(scale.few_seeds if mapper in _COSTLY else scale.seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples, hardware)
            yield Run(layer, objective, _LONG, 0, scale.long_samples, hardware)
        for layer, objective in product(scale.layers, scale.objectives):
            for mapper in MAPPERS:
                for seed in range(0 if mapper in _COSTLY else scale.few_seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples, model="maestro")
            yield Run(layer, objective, _LONG, 0, scale.long_samples, model="maestro")

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)
        exact = [arena for arena in arenas if arena.model == "exact"]
        shown = (*MAPPERS, WARMED)
        self.put(
            places,
            "cells.csv",
            cells_header(scale.checkpoints),
            cells(arenas, shown, scale.checkpoints),
        )
        self.put(
            places, "fewer.csv", (*_KEYS, "single_agent", "times", "found_after"), _fewer(exact)
        )
        self.put(places, "networks.csv", NETWORKS, networks(arenas, MAPPERS))
        self.put(places, "ratios.csv", RATIOS, ratios(arenas, shown, scale.checkpoints))
        header = ("group", "mapper", "percent", "searches", "median", "share")
        self.put(places, "arrivals.csv", header, _arrivals(arenas, shown))
        self.put(
            places,
            "leads.csv",
            ("against", "samples", "yes", "counted", "cells"),
            _leads(exact, scale),
        )

    def view(self, results: Path) -> dict[str, Any]:
        return table3_view.view(self, results)


def cells_header(checkpoints: Sequence[int]) -> tuple[str, ...]:
    """Return the header of ``cells.csv``."""
    figures = (f"{kind}_{each}" for each in checkpoints for kind in ("iqm", "low", "high"))
    near = (f"{kind}_{percent}" for percent in PERCENTS for kind in _ARRIVALS)
    return (*_KEYS, "mapper", "seeds", "best_known", *figures, *near)


NETWORKS = ("model", "network", "objective", "mapper", "layer", *_RATIO, "printed", "recomputed")
RATIOS = ("group", "cells", "mapper", "samples", *_RATIO)


def cells(
    arenas: Sequence[Arena], mappers: Sequence[str], checkpoints: Sequence[int]
) -> Iterator[RowOf]:
    """Yield the rows of ``cells.csv``: each mapper in each cell."""
    for arena, mapper in product(arenas, mappers):
        if not arena.has(mapper):
            continue
        found = arena.contest.bests(mapper, np.array(checkpoints))
        figures = np.stack([iqm(found), *bootstrap_interval(found)], axis=1)
        near = (each for percent in PERCENTS for each in _arrived(arena, mapper, percent))
        best_known = _number(arena.contest.best_known)
        shown = map(_number, figures.ravel().tolist())
        yield [*arena.keys, mapper, len(found), best_known, *shown, *near]


def _to_within(arena: Arena, mapper: str, percent: float) -> Floats:
    """Return each search's samples to within some per cent of the best known."""
    target = (1 + percent / 100) * arena.contest.best_known
    return np.array([each.samples_to(target) for each in arena.searches(mapper)])


def _arrived(arena: Arena, mapper: str, percent: float) -> Iterator[str]:
    """Yield the median samples to near the best known, arrivals, and expected samples.

    These are the samples of all searches, until they arrive or end, for each one that arrives: the
    expected running time of Hansen et al., *COCO: a platform for comparing continuous optimizers
    in a black-box setting*, 2021.
    """
    needed = _to_within(arena, mapper, percent)
    arrived = np.count_nonzero(np.isfinite(needed))
    spent = np.minimum(needed, arena.samples).sum()
    yield _number(float(np.median(needed)))
    yield str(arrived)
    yield _number(float(spent / arrived) if arrived else np.inf)


def _fewer(arenas: Sequence[Arena]) -> Iterator[RowOf]:
    for arena, slow in product(arenas, _SINGLE_AGENTS):
        if arena.has(MARL, slow):
            times = times_fewer(arena, MARL, slow)
            searches = arena.searches(slow)
            lasts = [each.at[-1] if len(each.at) else arena.samples for each in searches]
            shown = "" if times is None else _number(times)
            yield (*arena.keys, slow, shown, _number(float(np.median(lasts))))


def times_fewer(arena: Arena, mapper: str, slow: str) -> float | None:
    """Return how many times fewer samples a mapper needs to another's median best at its end.

    None where that is infinite; 0 where the mapper's median search never gets there.
    """
    target = float(middle(bests(arena.searches(slow), arena.samples)))
    if np.isinf(target):
        return None
    return arena.samples / samples_to_cost(arena.searches(mapper), target).median


def networks(arenas: Sequence[Arena], mappers: Sequence[str]) -> Iterator[RowOf]:
    """Yield the rows of ``networks.csv``: final ratios on the paper's networks."""
    paper = [arena for arena in arenas if arena.hardware == "paper"]
    models = dict.fromkeys(arena.model for arena in paper)
    for model, ((network, objective), printed) in product(models, TABLE_3.items()):
        here = {
            arena.contest.layer: [arena]
            for arena in paper
            if arena.model == model
            and arena.contest.layer.startswith(f"{network}_")
            and arena.contest.objective == objective
        }
        groups = {"": [arena for part in here.values() for arena in part], **here}
        for mapper, (layer, part) in product(mappers, groups.items()):
            if mapper != MARL and part:
                ratio = cost_ratio(part, mapper, MARL, [part[0].samples])
                shown, recomputed = printed.get(mapper, ("", math.nan))
                beside = shown, _number(recomputed)
                yield (model, network, objective, mapper, layer, *_columns(ratio, 0), *beside)


def groups(arenas: Sequence[Arena]) -> dict[str, list[Arena]]:
    """Return the arenas that figures are taken over together, by model and hardware."""
    found: dict[str, list[Arena]] = {}
    for arena in arenas:
        found.setdefault(arena.model, []).append(arena)
    for arena in arenas:
        found.setdefault(f"{arena.model}, {arena.hardware}", []).append(arena)
    # A model on one hardware has nothing to sum up.
    return {
        name: group
        for name, group in found.items()
        if "," in name or len({arena.hardware for arena in group}) > 1
    }


def ratios(
    arenas: Sequence[Arena], mappers: Sequence[str], checkpoints: Sequence[int]
) -> Iterator[RowOf]:
    """Yield the rows of ``ratios.csv``: costs in multiples of MARL's."""
    for (name, group), mapper in product(groups(arenas).items(), mappers):
        ratio = cost_ratio(group, mapper, MARL, checkpoints)
        for index, samples in enumerate(checkpoints):
            yield (name, len(group), mapper, samples, *_columns(ratio, index))


def _arrivals(arenas: Sequence[Arena], mappers: Sequence[str]) -> Iterator[RowOf]:
    for (name, group), mapper, percent in product(groups(arenas).items(), mappers, PERCENTS):
        found = [_to_within(arena, mapper, percent) for arena in group if arena.has(mapper)]
        if found:
            pooled = np.concatenate(found)
            share = float(np.mean(np.isfinite(pooled)))
            figures = _number(float(np.median(pooled))), _number(share)
            yield (name, mapper, percent, len(pooled), *figures)


def _leads(arenas: Sequence[Arena], scale: Scale) -> Iterator[RowOf]:
    against = {"the paper's": PAPERS, "the controls": CONTROLS}
    against |= {mapper: (mapper,) for mapper in MAPPERS if mapper != MARL}
    of = len(scale.hardware) * len(scale.layers) * len(scale.objectives)
    for (name, others), samples in product(against.items(), scale.checkpoints):
        judged = [leads(arena, others, samples) for arena in arenas if arena.has(MARL, *others)]
        yield (name, samples, sum(judged), len(judged), of)


def leads(arena: Arena, others: Sequence[str], samples: int) -> bool:
    """Say whether MARL is best, or within the interval of the best, of it and some others.

    That is if its interquartile mean is at most the upper end of the 95 % bootstrap interval of
    the best other's. Where that end is infinite it bounds nothing, and the other's mean counts.
    """
    rivals = [bests(arena.searches(other), samples) for other in others]
    best = min(rivals, key=lambda found: float(iqm(found)))
    own = float(iqm(bests(arena.searches(MARL), samples)))
    end = float(bootstrap_interval(best)[1])
    return bool(np.isfinite(own)) and own <= (end if np.isfinite(end) else float(iqm(best)))


def _columns(ratio: Ratio, index: int) -> tuple[object, ...]:
    """Return the columns of a ratio at one number of samples."""
    ends = ratio.interval
    interval = ("", "") if ends is None else tuple(_number(float(end[index])) for end in ends)
    figure = _number(float(ratio.figure[index]))
    return (ratio.arenas, figure, *interval, ratio.without[index], ratio.alone[index])


def _number(figure: float) -> str:
    """Return six digits of a figure; ``inf`` is one, not a number is an empty cell."""
    return "" if np.isnan(figure) else f"{figure:.6g}"
