"""Fig. 5: mean return against samples of MARL and of single-agent RL, and the samples both need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper import plots
from experiments.paper.frame import Item, Places, Scale, log_spaced, searches
from experiments.paper.ledger import Arena, Finished, Run, make_arenas
from experiments.paper.reach import (
    REACH_COLUMNS,
    Factor,
    Reach,
    converged_return,
    interval,
    mean_factor,
    middle,
    samples_to_cost,
    samples_to_return,
    windows_of,
)
from experiments.paper.rows import Rows, grouped, select
from experiments.paper.verdicts import at_least, everywhere
from experiments.stats import Floats

SINGLE = ("ppo", "ppo_box")
MULTI = ("marl", "marl_clustered")
CONVERGED, BEST, LAST = "converged return", "best", "last best"
"""Targets: what the single agent converged to; the best it found by MARL's budget, or in all."""

_OBJECTIVES = ("latency", "area", "edp")
_RETURNS, _ENDS, _SAMPLES = "returns.csv", "ends.csv", "samples.csv"
_PRINTED = {
    ("mobilenetv2_l2", "latency"): 100,
    ("mobilenetv2_l2", "area"): 40,
    ("mobilenetv2_l2", "edp"): 312.5,
    ("vgg16_l2", "latency"): 30,
    ("vgg16_l2", "area"): 63,
    ("vgg16_l2", "edp"): 41.6,
}
"""Times fewer steps that the paper's MARL needs (VI-B; the caption has 300 for 312.5)."""
_BETTER = {("mobilenetv2_l2", "edp"): 2.56, ("vgg16_l2", "edp"): 8}
"""Times better rewards that it ends with (VI-B)."""
_FEWER = 30
# The least that the paper's own numbers make of "an order of magnitude": hundreds of thousands of
# steps of a single agent against 25,000 of MARL.
_MAGNITUDE = 8
# A cost at most this share above another matches it.
_MATCH = 0.01


class Fig5(Item):
    """Long searches of single agents, short ones of MARL."""

    name = "fig5"

    def runs(self, scale: Scale) -> Iterable[Run]:
        problems = scale.figure_layers, _OBJECTIVES
        yield from searches(*problems, SINGLE, scale.few_seeds, scale.single_agent_samples)
        yield from searches(*problems, MULTI, scale.seeds, scale.samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        budgets = scale.single_agent_samples, scale.samples
        pairs = list(zip(*(make_arenas(finished, each) for each in budgets), strict=True))
        there = [
            (mapper, arena)
            for pair in pairs
            for arena, mappers in zip(pair, (SINGLE, MULTI), strict=True)
            for mapper in mappers
            if arena.has(mapper)
        ]
        keys = ("layer", "objective", "mapper", "samples")
        returns = (row for each in there for row in _returns(*each))
        self.put(places, _RETURNS, (*keys, "low", "mean", "high"), returns)
        ends = (_ends(*each) for each in there)
        self.put(places, _ENDS, (*keys, "converged_return", "bests"), ends)
        reached = (f"{who}_{name}" for who in ("slow", "fast") for name in REACH_COLUMNS)
        header = ("layer", "objective", "single", "target", "multi", "value", *reached, "warm_up")
        self.put(places, _SAMPLES, header, (row for pair in pairs for row in compare(*pair)))

    def view(self, results: Path) -> dict[str, Any]:
        rows, ends = self.rows(results, _SAMPLES), self.rows(results, _ENDS)
        own, clustered = (select(rows, single=SINGLE[0], multi=multi) for multi in MULTI)
        steps = {
            (row["layer"], row["objective"]): _factor([row])
            for row in select(own, target=CONVERGED)
        }
        final = final_costs(ends)
        converged = _factor(select(own, target=CONVERGED))
        charged = _factor(select(clustered, target=CONVERGED), charged=True)
        level = [at_least(low, high, 1 - _MATCH) for _, low, high in final.values()]
        return {
            "tables": [(target, _table(rows, target)) for target in (CONVERGED, BEST, LAST)],
            "seeds": {row["mapper"]: len(row["bests"].split()) for row in ends},
            "steps": [
                (*problem, printed, steps[problem].told, _reaches(steps[problem], printed))
                for problem, printed in _PRINTED.items()
                if problem in steps
            ],
            "better": [
                (*problem, times, _shown(final[problem]), at_least(*final[problem][1:], times))
                for problem, times in _BETTER.items()
                if problem in final
            ],
            "converged": converged,
            "best": _factor(select(own, target=BEST)).told,
            "charged": charged.told,
            "charged_last": _factor(select(clustered, target=LAST), charged=True).told,
            "final": {", ".join(problem): _shown(found) for problem, found in final.items()},
            "matched": level.count(True),
            "verdicts": {
                "fewer": _reaches(converged, _FEWER),
                "charged": _reaches(charged, _MAGNITUDE),
                "final": everywhere(level),
            },
        }

    def draw(self, places: Places) -> None:
        samples = self.rows(places.results, _SAMPLES)
        warm_ups = {row["multi"]: int(row["warm_up"]) for row in samples}
        rows = self.rows(places.results, _RETURNS)
        plots.draw_returns(rows, warm_ups, places.images / "fig5.png")


def compare(long: Arena, short: Arena) -> Iterator[list[object]]:
    """Yield what single agents and MARL needed to reach what the single agents reached.

    Args:
        long: the single agents' searches on a problem.
        short: MARL's, whose budget decides what ``BEST`` is.
    """
    for single, multi in product(SINGLE, MULTI):
        if not (long.has(single) and short.has(multi)):
            continue
        both = slow, fast = long.searches(single), short.searches(multi)
        converged, windows = converged_return(slow), len(windows_of(slow[0]).ends)
        by_return = [samples_to_return(each, converged, long.samples / windows) for each in both]
        reached = [(CONVERGED, converged, by_return)]
        for target, samples in ((BEST, short.samples), (LAST, long.samples)):
            best = float(middle(long.bests(single, samples)))
            reached.append((target, best, [samples_to_cost(each, best) for each in both]))
        warm_up = max(each.warm_up for each in fast)
        for target, value, needed in reached:
            figures = [figure for each in needed for figure in each.row()]
            yield [*short.problem, single, target, multi, value, *figures, warm_up]


def _returns(mapper: str, arena: Arena) -> Iterator[list[object]]:
    windows = [windows_of(each) for each in arena.searches(mapper)]
    returns = np.stack([each.returns for each in windows])
    columns = returns.min(axis=0), returns.mean(axis=0), returns.max(axis=0)
    for index in log_spaced(len(windows[0].ends)):
        figures = (f"{column[index]:.4g}" for column in columns)
        yield [*arena.problem, mapper, windows[0].ends[index], *figures]


def _ends(mapper: str, arena: Arena) -> list[object]:
    bests = " ".join(map(str, arena.bests(mapper, arena.samples).tolist()))
    converged = converged_return(arena.searches(mapper))
    return [*arena.problem, mapper, arena.samples, converged, bests]


def _factor(rows: Rows, charged: bool = False) -> Factor:
    """Return how many times fewer samples MARL needs, with its warm-up or not, to one target."""
    if not rows:
        return Factor(1, "?", 0, np.inf)
    pairs = [
        (
            Reach.of(row, "slow_"),
            Reach.of(row, "fast_").after(int(row["warm_up"]) if charged else 0),
        )
        for row in rows
    ]
    return mean_factor(pairs, own=rows[0]["target"] == CONVERGED)


def _table(rows: Rows, target: str) -> list[list[object]]:
    """Return a line for each problem and single agent: what it needed, and both forms of MARL."""
    table: list[list[object]] = []
    here = grouped(select(rows, target=target), "layer", "objective", "single")
    for (layer, objective, single), found in here.items():
        line = [f"{layer}, {objective}: {single}", Reach.of(found[0], "slow_")]
        for multi in MULTI:
            own = select(found, multi=multi)
            line += [Reach.of(own[0], "fast_"), _factor(own)] if own else ["-"] * 2
        line.append(_factor(select(found, multi=MULTI[1]), charged=True))
        printed = f"{_PRINTED[layer, objective]}x" if single == SINGLE[0] else ""
        table.append([*line, printed])
    return table


def _reaches(found: Factor, threshold: float) -> bool | None:
    return at_least(found.low, found.high, threshold)


Cost = tuple[float, float, float]
"""A ratio and its interval."""


def final_costs(ends: Rows) -> dict[tuple[str, ...], Cost]:
    """Return what ``ppo`` ends with in multiples of ``marl``, medians over seeds, by problem."""
    costs = {}
    for problem, rows in grouped(ends, "layer", "objective").items():
        bests = {row["mapper"]: np.array(row["bests"].split(), dtype=np.float64) for row in rows}
        if {SINGLE[0], MULTI[0]} <= bests.keys():
            costs[problem] = _ratio_of_medians([bests[SINGLE[0]], bests[MULTI[0]]])
    return costs


def _ratio_of_medians(strata: Sequence[Floats]) -> Cost:
    def ratio(drawn: Sequence[Floats]) -> Floats:
        # Infinite over infinite is not a number, and is sorted behind all.
        with np.errstate(invalid="ignore"):
            return np.asarray(middle(drawn[0]) / middle(drawn[1]))

    return float(ratio(strata)), *interval(strata, ratio)


def _shown(cost: Cost) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*cost)
