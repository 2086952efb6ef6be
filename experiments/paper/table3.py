"""Table III: MARL against the other mappers on the reporting layers; and the paper's own agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from experiments.paper import table3_view
from experiments.paper.frame import Item, searches
from experiments.paper.ledger import ARENA_COLUMNS, WARMED, Arena, Finished, Run, make_arenas
from experiments.paper.printed import CONTROLS, MARL, OWN, PAPERS, TABLE_3
from experiments.paper.ratios import Ratio, cost_ratios
from experiments.paper.rows import read_rows, select
from experiments.shown.statistics import Floats, bootstrap_interval, iqm

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

_BESIDE = (MARL, OWN, "random_log")
_TO_PPO = "to_ppo.csv"
_RATIO = ("of", "ratio", "low", "high", "without", "alone")


class Table3(Item):
    """The comparison of all mappers."""

    name = "table3"

    def runs(self) -> Iterator[Run]:
        scale = self.scale
        ways = [("exact", each, scale.seeds, scale.few_seeds) for each in scale.hardware]
        ways.append(("maestro", "paper", scale.few_seeds, 0))
        for way, layer, objective in product(ways, scale.layers, scale.objectives):
            model, hardware, seeds, few = way
            for mapper in MAPPERS:
                for seed in range(few if mapper in _COSTLY else seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples, hardware, model)

    def write(self, finished: Mapping[Run, Finished]) -> None:
        scale = self.scale
        arenas = make_arenas(finished, scale.samples)
        exact = [arena for arena in arenas if arena.model == "exact"]
        shown = (*MAPPERS, WARMED)
        _write_costs(self, arenas, shown)
        against = {"the paper's": PAPERS, "the controls": CONTROLS}
        against |= {mapper: (mapper,) for mapper in MAPPERS if mapper != MARL}
        of = len(scale.hardware) * len(scale.layers) * len(scale.objectives)
        _write_leads(self, exact, against, of)
        header: tuple[str, ...] = (*ARENA_COLUMNS, "single_agent", "times", "found_after")
        self.put("fewer.csv", header, _fewer(exact))

    def view(self) -> dict[str, Any]:
        return table3_view.view(self)


class MarlPaper(Item):
    """Searches of ``marl_paper`` and others on Table III's cells, from the same seeds.

    ``marl`` and ``random_log`` are run again here, as result files keep no searches: from the same
    seeds they find the same. How soon they find what ``ppo`` ends with is told by Table III's file.
    """

    name = OWN

    def runs(self) -> Iterator[Run]:
        scale = self.scale
        for hardware in scale.hardware:
            yield from searches(
                scale.layers, scale.objectives, _BESIDE, scale.seeds, scale.samples, [hardware]
            )

    def write(self, finished: Mapping[Run, Finished]) -> None:
        arenas = make_arenas(finished, self.scale.samples)
        _write_costs(self, arenas, _BESIDE)
        complete = [arena for arena in arenas if arena.has(*_BESIDE)]
        _write_leads(self, complete, {OWN: [OWN]}, len(arenas))
        path = self.results / "table3" / "cells.csv"
        # What ppo ends with in each of Table III's cells: the interquartile mean.
        ends = select(read_rows(path), mapper=_SINGLE_AGENTS[0]) if path.exists() else []
        targets = {
            tuple(row[key] for key in ARENA_COLUMNS): float(row[f"iqm_{self.scale.samples}"])
            for row in ends
        }
        rows = []
        for arena in complete:
            if target := targets.get(arena.keys):
                needed = (arena.samples_to(mapper, target).median for mapper in _BESIDE)
                rows.append((*arena.keys, f"{target:.6g}", arena.samples, *needed))
        self.put(_TO_PPO, (*ARENA_COLUMNS, "target", "budget", *_BESIDE), rows)

    def view(self) -> dict[str, Any]:
        rows = self.rows(_TO_PPO)
        finite = [row for row in rows if np.isfinite(float(row["target"]))]
        return {
            "fewer": {
                mapper: [float(row["budget"]) / float(row[mapper]) for row in finite]
                for mapper in _BESIDE
            },
            "cells": len(finite),
            "of": len(rows),
            "verdicts": {},
        }


def _write_costs(item: Item, arenas: Sequence[Arena], mappers: Sequence[str]) -> None:
    """Write what some mappers found: in each cell, and in multiples of MARL's costs."""
    checkpoints = item.scale.checkpoints
    header: tuple[str, ...] = (*ARENA_COLUMNS, "mapper", "seeds")
    rows = _cells(arenas, mappers, checkpoints)
    item.put("cells.csv", (*header, *iqm_columns("iqm", checkpoints)), rows)
    header = ("model", "network", "objective", "mapper", "layer", *_RATIO, "printed", "recomputed")
    item.put("networks.csv", header, _networks(arenas, mappers))
    ratios = partial(cost_ratios, base=MARL, checkpoints=checkpoints)
    put_ratios(item, groups_of(arenas), mappers, ratios)


def put_ratios(
    item: Item,
    groups: Mapping[str, Sequence[Arena]],
    mappers: Sequence[str],
    ratios: Callable[[Sequence[Arena], str], Iterable[Ratio]],
) -> None:
    """Write the ratios of every mapper in every group of arenas."""
    rows = (
        (name, len(group), mapper, ratio.samples, *_columns(ratio))
        for (name, group), mapper in product(groups.items(), mappers)
        for ratio in ratios(group, mapper)
    )
    item.put("ratios.csv", ("group", "cells", "mapper", "samples", *_RATIO), rows)


def _cells(
    arenas: Sequence[Arena], mappers: Sequence[str], checkpoints: Sequence[int]
) -> Iterator[Sequence[object]]:
    for arena, mapper in product(arenas, mappers):
        if arena.has(mapper):
            found = arena.bests(mapper, np.array(checkpoints))
            yield [*arena.keys, mapper, len(found), *iqm_figures(found)]


def iqm_columns(figure: str, checkpoints: Iterable[int]) -> list[str]:
    """Return the columns of what ``iqm_figures`` returns."""
    return [f"{kind}_{each}" for each in checkpoints for kind in (figure, "low", "high")]


def iqm_figures(found: Floats) -> list[str]:
    """Return the interquartile mean of float64[S, C] and its interval's ends, C times."""
    return [*map(number, np.stack([iqm(found), *bootstrap_interval(found)], axis=1).ravel())]


def _networks(arenas: Sequence[Arena], mappers: Sequence[str]) -> Iterator[Sequence[object]]:
    """Yield final ratios on the paper's networks, and on each layer of them."""
    paper = [arena for arena in arenas if arena.hardware == "paper"]
    models = dict.fromkeys(arena.model for arena in paper)
    for model, ((network, objective), printed) in product(models, TABLE_3.items()):
        here = [
            arena
            for arena in paper
            if (arena.model, arena.objective) == (model, objective)
            and arena.layer.startswith(f"{network}_")
        ]
        parts = {"": here, **{arena.layer: [arena] for arena in here}}
        for mapper, (layer, part) in product(mappers, parts.items()):
            if part and mapper not in (MARL, WARMED):
                (ratio,) = cost_ratios(part, mapper, MARL, [part[0].samples])
                shown, recomputed = printed.get(mapper, ("", np.nan))
                beside = shown, number(recomputed)
                yield [model, network, objective, mapper, layer, *_columns(ratio), *beside]


def groups_of(arenas: Sequence[Arena]) -> dict[str, list[Arena]]:
    """Return the arenas that figures are taken over together, by model and hardware."""
    groups: dict[str, list[Arena]] = {}
    for arena in arenas:
        for name in (arena.model, f"{arena.model}, {arena.hardware}"):
            groups.setdefault(name, []).append(arena)
    # A model on one hardware has nothing to sum up.
    return {
        name: group
        for name, group in groups.items()
        if "," in name or len({arena.hardware for arena in group}) > 1
    }


def _columns(ratio: Ratio) -> Sequence[object]:
    figures = map(number, (ratio.ratio, ratio.low, ratio.high))
    return (ratio.problems, *figures, ratio.without, ratio.alone)


def _fewer(arenas: Sequence[Arena]) -> Iterator[Sequence[object]]:
    for arena, slow in product(arenas, _SINGLE_AGENTS):
        if arena.has(MARL, slow):
            searches = arena.searches[slow]
            lasts = [each.at[-1] if len(each.at) else arena.samples for each in searches]
            figures = map(number, (times_fewer(arena, MARL, slow), float(np.median(lasts))))
            yield [*arena.keys, slow, *figures]


def times_fewer(arena: Arena, mapper: str, slow: str) -> float:
    """Return how many times fewer samples a mapper needs to another's median best at its end.

    NaN where that is infinite; 0 where the mapper's median search never gets there.
    """
    target = arena.median_best(slow, arena.samples)
    if np.isinf(target):
        return np.nan
    return arena.samples / arena.samples_to(mapper, target).median


def _write_leads(
    item: Item, arenas: Sequence[Arena], against: Mapping[str, Sequence[str]], of: int
) -> None:
    """Write in how many of so many cells MARL leads others, of those that all have searched."""
    rows = []
    for (name, others), samples in product(against.items(), item.scale.checkpoints):
        judged = [leads(arena, others, samples) for arena in arenas if arena.has(MARL, *others)]
        rows.append((name, samples, sum(judged), len(judged), of))
    item.put("leads.csv", ("against", "samples", "yes", "counted", "cells"), rows)


def leads(arena: Arena, others: Sequence[str], samples: int) -> bool:
    """Say whether MARL is best, or within the interval of the best, of it and some others.

    That is if its interquartile mean is at most the upper end of the 95 % bootstrap interval of
    the best other's. Where that end is infinite it bounds nothing, and the other's mean counts.
    """
    best = min((arena.bests_after(other, samples) for other in others), key=iqm)
    own, end = iqm(arena.bests_after(MARL, samples)), bootstrap_interval(best)[1]
    return bool(np.isfinite(own) and own <= (end if np.isfinite(end) else iqm(best)))


def number(figure: float) -> str:
    """Return eight digits of a figure; ``inf`` is one, not a number is an empty cell."""
    return "" if np.isnan(figure) else f"{figure:.8g}"
