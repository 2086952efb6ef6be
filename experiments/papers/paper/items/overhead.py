"""Section VI-E: what clustering costs, and groups learnt on one layer reused on others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from maestro_env.clustering import cluster
from maestro_env.experiments.papers.paper.items import (
    FilledFolder,
    Folder,
    Item,
    Lines,
    Scale,
    searches,
)
from maestro_env.experiments.papers.paper.ledger import Run, goal, samples_of
from maestro_env.experiments.papers.paper.ratios import Ratio, ratio_lines
from maestro_env.experiments.papers.paper.reach import (
    REACH_COLUMNS,
    Reach,
    at_most,
    everywhere,
    interval,
    middle,
    mostly,
    tally,
)
from maestro_env.experiments.papers.paper.results import grouped, pivot, select
from maestro_env.experiments.shown.statistics import Floats

_SOURCE = "resnet18_l2"
_PERCENT = 2
_OWN, _REUSED, _RANDOM, _NONE = "own", f"of {_SOURCE}", "random", "one agent per parameter"
_PAIRS = ((_REUSED, _OWN), (_REUSED, _RANDOM), (_OWN, _RANDOM), (_REUSED, _NONE))
_LAYERS = (1, 2, 4, 8)
_NEGLIGIBLE = 0.1
_NEVER, _ONCE, _ALWAYS = "never", "once", "every time"
_COUNTED = {_OWN: (_ALWAYS, _NEVER), _REUSED: (_ONCE, _NEVER), _RANDOM: ("",), _NONE: ("",)}
"""How often the warm-up of groups counts, a line of the table each; empty without warm-up."""


def _runs(scale: Scale) -> Iterator[Run]:
    layers = [layer for layer in scale.layers if _parameters(layer) == _parameters(_SOURCE)]
    for layer, objective in product(layers, scale.objectives):
        mappers = _mappers(objective).values()
        yield from searches([layer], [objective], mappers, scale.seeds, scale.samples)


def _inputs(folder: Folder) -> dict[str, str]:
    """Return the groups of the source, learnt from random samples."""
    runs = [
        Run(_SOURCE, each, "random", 0, folder.scale.samples) for each in folder.scale.objectives
    ]
    learnt = {run.objective: cluster(samples_of(run, folder.work)).groups for run in runs}
    return {_groups_file(objective): groups.to_json() for objective, groups in learnt.items()}


def _mappers(objective: str) -> dict[str, str]:
    """Return the mappers by the groups they have."""
    return {
        _OWN: "marl_clustered",
        _REUSED: f"marl_clustered:groups=overhead/{_groups_file(objective)}",
        _RANDOM: "marl_clustered:agents=6:grouping=random",
        _NONE: "marl",
    }


def _groups_file(objective: str) -> str:
    return f"{_SOURCE}-{objective}.json"


def _parameters(layer: str) -> list[str]:
    space = goal(Run(layer, "latency", "marl", 0, 1)).problem.space
    return [parameter.name for parameter in space.parameters]


def _samples(found: FilledFolder) -> Lines:
    yield ("objective", "layer", "groups", *REACH_COLUMNS, "warm_up")
    for arena in found.arenas:
        for groups, mapper in _mappers(arena.objective).items():
            if searched := arena.searches.get(mapper):
                warm_up = max(each.warm_up for each in searched)
                reach = arena.samples_to_within(mapper, _PERCENT).row()
                yield [arena.objective, arena.layer, groups, *reach, warm_up]


def _ratios(found: FilledFolder) -> Lines:
    mappers = {objective: _mappers(objective) for objective in found.scale.objectives}
    compared = (
        (
            (objective, groups, other),
            [arena for arena in found.arenas if arena.objective == objective],
            mappers[objective][groups],
            mappers[objective][other],
        )
        for objective, (groups, other) in product(mappers, _PAIRS)
    )
    return ratio_lines(("objective", "groups", "to"), compared, found.scale.checkpoints)


def _view(folder: Folder) -> dict[str, Any]:
    rows, costs = folder.rows("samples.csv"), folder.rows("ratios.csv")
    warm_up = max((int(row["warm_up"]) for row in rows), default=0)
    found: dict[str, dict[str, list[Reach]]] = {}
    for (objective, groups), here in grouped(rows, "objective", "groups").items():
        found.setdefault(objective, {})[groups] = list(map(Reach.of, here))
    own, chance = (
        [Ratio.of(row).better for row in select(costs, groups=_REUSED, to=other)]
        for other in (_OWN, _RANDOM)
    )
    amortised = {
        objective: amortisation(groups, warm_up)
        for objective, groups in found.items()
        if {_REUSED, _NONE} <= groups.keys()
    }
    return {
        "found": found,
        "counted": _COUNTED,
        "layers": _LAYERS,
        "total": total,
        "ratios": pivot(
            "groups",
            sorted(costs, key=lambda row: _PAIRS.index((row["groups"], row["to"]))),
            ("samples",),
            Ratio.of,
            "{0[objective]}: {0[groups]} to {0[to]}".format,
        ),
        "warm_up": warm_up,
        "own": tally(own),
        "chance": tally(chance),
        "amortised": amortised,
        "verdicts": {
            "reuse": everywhere((2 * own.count(False) <= len(own), mostly(chance))),
            **{objective: found["verdict"] for objective, found in amortised.items()},
        },
    }


def total(reaches: Sequence[Reach], layers: int, warm_up: int, counted: str) -> tuple[float, str]:
    """Return the samples that so many layers take, if they are like those that were searched.

    Args:
        reaches: what the searches of each layer needed.
        layers: how many there are.
        warm_up: samples that groups are learnt from.
        counted: how often: ``never`` (or empty), ``once`` or ``every time``.

    Returns:
        Them, and as a text: with ``>`` if on some layer the median search never arrived.
    """
    times = {_ONCE: 1, _ALWAYS: layers}.get(counted, 0)
    samples = layers * float(np.mean([each.least for each in reaches])) + times * warm_up
    return samples, f"{'>' if any(each.censored for each in reaches) else ''}{samples:,.0f}"


def mean_interval(reaches: Sequence[Reach]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval over seeds of the mean of medians over layers.

    A median beyond its budget counts with that at the lower end, as infinite at the upper one; with
    one seed on a layer the interval is everything.
    """
    strata = [np.array(each.samples) for each in reaches]

    def mean(drawn: Sequence[Floats], most: Sequence[float]) -> Floats:
        medians = [np.minimum(middle(each), b) for each, b in zip(drawn, most, strict=True)]
        return np.asarray(np.mean(medians, axis=0))

    budgets, unlimited = [each.budget for each in reaches], [math.inf] * len(reaches)
    return interval(strata, partial(mean, most=budgets), partial(mean, most=unlimited))


def amortisation(groups: Mapping[str, Sequence[Reach]], warm_up: int) -> dict[str, Any]:
    """Return the warm-up's share of what many layers take, its interval, and these samples."""
    most = max(_LAYERS)
    samples, told = total(groups[_REUSED], most, warm_up, _ONCE)
    censored = any(each.censored for each in groups[_REUSED])
    least, greatest = mean_interval(groups[_REUSED])
    low, high = (warm_up / (warm_up + most * each) for each in (greatest, least))
    return {
        "share": f"{'at most ' if censored else ''}{warm_up / samples:.0%}",
        "low": low,
        "high": high,
        "samples": told,
        "without": total(groups[_NONE], most, warm_up, _NEVER)[1],
        "verdict": at_most(low, high, _NEGLIGIBLE),
    }


ITEM = Item(
    "overhead",
    runs=_runs,
    inputs=_inputs,
    files={"samples.csv": _samples, "ratios.csv": _ratios},
    view=_view,
)
