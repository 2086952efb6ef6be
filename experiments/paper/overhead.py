"""Section VI-E: what clustering costs, and groups learnt on one layer reused on others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from clustering import cluster
from experiments.files import ensure_directory, write_text
from experiments.paper.frame import (
    Item,
    Places,
    Scale,
    at_least,
    everywhere,
    mostly,
    pivot,
    select,
)
from experiments.paper.ledger import Arena, Finished, Run, goal, make_arenas, samples_of
from experiments.paper.ratios import RatioRow, ratio_rows, tally
from experiments.paper.reach import Reach, middle, samples_to_cost
from experiments.stats import Floats, stratified_interval

_SAMPLES, _RATIOS = "samples.csv", "ratios.csv"
_SOURCE = "resnet18_l2"
_PERCENT = 2
_OWN, _REUSED, _RANDOM, _NONE = "own", f"of {_SOURCE}", "random", "one agent per parameter"
_PAIRS = ((_REUSED, _OWN), (_REUSED, _RANDOM), (_OWN, _RANDOM), (_REUSED, _NONE))
_LAYERS = (1, 2, 4, 8)
_NEGLIGIBLE = 0.1
_NEVER, _ONCE, _ALWAYS = "never", "once", "every time"
_LINES = (
    (_OWN, _ALWAYS, f"{_OWN}, warm-up {_ALWAYS}"),
    (_OWN, _NEVER, f"{_OWN}, warm-up {_NEVER}"),
    (_REUSED, _ONCE, f"{_REUSED}, warm-up {_ONCE}"),
    (_REUSED, _NEVER, f"{_REUSED}, warm-up {_NEVER}"),
    (_RANDOM, _NEVER, _RANDOM),
    (_NONE, _NEVER, _NONE),
)
"""Groups, how often their warm-up counts, and what a line of the table is called."""

Found = Mapping[str, Sequence[Reach]]
"""What searches needed on every layer, by groups."""


class Overhead(Item):
    """Own, reused and random groups on the reporting layers that have the source's parameters."""

    name = "overhead"

    def prepare(self, scale: Scale, places: Places) -> None:
        ensure_directory(places.work)
        for objective in scale.objectives:
            run = Run(_SOURCE, objective, "random", 0, scale.samples)
            groups = cluster(samples_of(run, places.work)).groups
            write_text(places.work / _groups_file(objective), groups.to_json())

    def runs(self, scale: Scale) -> Iterable[Run]:
        layers = [layer for layer in scale.layers if _parameters(layer) == _parameters(_SOURCE)]
        for layer, objective in product(layers, scale.objectives):
            for mapper in _mappers(objective).values():
                for seed in range(scale.seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples)
            yield Run(layer, objective, "ga", 0, scale.long_samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)
        header = ("objective", "layer", "groups", *Reach.header(), "warm_up")
        rows = (row for arena in arenas for row in _samples(arena))
        self.put(places, _SAMPLES, header, rows)
        for name in map(_groups_file, scale.objectives):
            text = (places.work / name).read_text(encoding="utf-8")
            write_text(self.file(places.results, name), text)
        ratios = (
            row for objective in scale.objectives for row in _ratios(arenas, objective, scale)
        )
        header = ("objective", "groups", "to", *RatioRow.header())
        self.put(places, _RATIOS, header, ratios)

    def view(self, results: Path) -> dict[str, Any]:
        rows = self.rows(results, _SAMPLES)
        found: dict[str, dict[str, list[Reach]]] = {}
        for row in rows:
            groups = found.setdefault(row["objective"], {})
            groups.setdefault(row["groups"], []).append(Reach.of(row))
        warm_up = max((int(row["warm_up"]) for row in rows), default=0)
        ratios = self.rows(results, _RATIOS)
        own, chance = (
            tally(list(map(RatioRow.of, select(ratios, groups=_REUSED, to=other))))
            for other in (_OWN, _RANDOM)
        )
        amortised = {
            objective: amortisation(groups, warm_up)
            for objective, groups in found.items()
            if {_REUSED, _NONE} <= groups.keys()
        }
        return {
            "headers": [
                "groups",
                *(f"{n} layer{'s' if n > 1 else ''}" for n in _LAYERS),
                "arrives on",
            ],
            "rows": [
                line
                for objective, groups in found.items()
                for line in _total_lines(objective, groups, warm_up)
            ],
            "ratios": pivot(
                "groups",
                sorted(ratios, key=lambda row: _PAIRS.index((row["groups"], row["to"]))),
                ("samples",),
                lambda row: str(RatioRow.of(row)),
                "{0[objective]}: {0[groups]} to {0[to]}".format,
            ),
            "warm_up": f"{warm_up:,}",
            "own": own,
            "chance": chance,
            "comparisons": sum(own),
            "amortised": {objective: told for objective, (told, _) in amortised.items()},
            "verdicts": {
                "reuse": everywhere((2 * own[1] <= sum(own), mostly(*chance[:2], sum(chance)))),
                **{objective: verdict for objective, (_, verdict) in amortised.items()},
            },
        }


def _mappers(objective: str) -> dict[str, str]:
    """Return the mappers by the groups they have."""
    return {
        _OWN: "marl_clustered",
        _REUSED: f"marl_clustered:groups={Overhead.name}/{_groups_file(objective)}",
        _RANDOM: "marl_clustered:agents=6:grouping=random",
        _NONE: "marl",
    }


def _groups_file(objective: str) -> str:
    return f"{_SOURCE}-{objective}.json"


def _parameters(layer: str) -> list[str]:
    space = goal(Run(layer, "latency", "marl", 0, 1)).problem.space
    return [parameter.name for parameter in space.parameters]


def _samples(arena: Arena) -> Iterator[list[object]]:
    layer, objective = arena.problem
    target = (1 + _PERCENT / 100) * arena.contest.best_known
    for groups, mapper in _mappers(objective).items():
        if arena.has(mapper):
            searches = arena.searches(mapper)
            reach = samples_to_cost(searches, target)
            warm_up = max(each.warm_up for each in searches)
            yield [objective, layer, groups, *reach.row(), warm_up]


def _ratios(arenas: list[Arena], objective: str, scale: Scale) -> Iterator[list[object]]:
    here = [arena for arena in arenas if arena.contest.objective == objective]
    mappers = _mappers(objective)
    for groups, other in _PAIRS:
        for row in ratio_rows(here, mappers[groups], mappers[other], scale.checkpoints):
            yield [objective, groups, other, *row.row()]


def total(reaches: Sequence[Reach], layers: int, warm_up: int, counted: str) -> tuple[float, str]:
    """Return the samples that so many layers take, if they are like those that were searched.

    Args:
        reaches: what the searches of each layer needed.
        layers: how many there are.
        warm_up: samples that groups are learnt from.
        counted: ``never``, ``once`` or ``every time``.

    Returns:
        Them, and as a text: with ``>`` if on some layer the median search never arrived.
    """
    times = {_NEVER: 0, _ONCE: 1, _ALWAYS: layers}[counted]
    mean = float(np.mean([each.least for each in reaches]))
    samples = layers * mean + times * warm_up
    return samples, f"{'>' if any(each.censored for each in reaches) else ''}{samples:,.0f}"


def mean_interval(reaches: Sequence[Reach]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval over seeds of the mean of medians over layers.

    A median beyond its budget counts with that at the lower end, as infinite at the upper one; with
    one seed on a layer the interval is everything.
    """
    if any(len(each.samples) < 2 for each in reaches):
        return 0.0, np.inf
    strata = [np.array(each.samples) for each in reaches]
    budgets = [each.budget for each in reaches]

    def mean(drawn: Sequence[Floats], most: Sequence[float]) -> Floats:
        medians = [np.minimum(middle(each), b) for each, b in zip(drawn, most, strict=True)]
        return np.asarray(np.mean(medians, axis=0))

    unlimited = [np.inf] * len(budgets)
    low = stratified_interval(strata, lambda drawn: mean(drawn, budgets))[0]
    return float(low), float(stratified_interval(strata, lambda drawn: mean(drawn, unlimited))[1])


def _total_lines(objective: str, groups: Found, warm_up: int) -> Iterator[list[str]]:
    for name, counted, label in _LINES:
        if name in groups:
            totals = (total(groups[name], n, warm_up, counted)[1] for n in _LAYERS)
            arrived = sum(not each.censored for each in groups[name])
            yield [f"{objective}: {label}", *totals, f"{arrived}/{len(groups[name])}"]


def amortisation(groups: Found, warm_up: int) -> tuple[dict[str, str], bool | None]:
    """Return the warm-up's share of what many layers take, and whether it is negligible."""
    most = max(_LAYERS)
    samples, told = total(groups[_REUSED], most, warm_up, _ONCE)
    ends = reversed(mean_interval(groups[_REUSED]))
    low, high = (warm_up / (warm_up + most * each) for each in ends)
    figures = {
        "share": f"{'at most ' if told.startswith('>') else ''}{warm_up / samples:.0%}",
        "interval": f"[{low:.1%}, {high:.1%}]",
        "samples": told,
        "without": total(groups[_NONE], most, warm_up, _NEVER)[1],
    }
    return figures, at_least(-high, -low, -_NEGLIGIBLE)
