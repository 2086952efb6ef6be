"""Fig. 5: mean return against samples of MARL and of single-agent RL, and the samples both need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper import plots, reach
from experiments.paper.frame import (
    LAYERS,
    Item,
    Places,
    Rows,
    Scale,
    at_least,
    everywhere,
    grouped,
    log_spaced,
    select,
)
from experiments.paper.ledger import Arena, Finished, Run, make_arenas
from experiments.paper.reach import (
    Factor,
    Reach,
    bests,
    mean_factor,
    middle,
    samples_to_cost,
    samples_to_return,
    windows_of,
)
from experiments.stats import Floats, stratified_interval

SINGLE = ("ppo", "ppo_box")
MULTI = ("marl", "marl_clustered")
CONVERGED, BEST, LAST = "converged return", "best", "last best"
"""Targets: what the single agent converged to; the best it found by MARL's budget, or in all."""

_OBJECTIVES = ("latency", "area", "edp")
_RETURNS, _ENDS, _SAMPLES = "returns.csv", "ends.csv", "samples.csv"
_KEYS = ("layer", "objective", "single", "target", "multi")
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
        layers = [layer for layer in LAYERS if layer in scale.layers]
        for layer, objective in product(layers, _OBJECTIVES):
            for mapper, seed in product(SINGLE, range(scale.few_seeds)):
                yield Run(layer, objective, mapper, seed, scale.single_agent_samples)
            for mapper, seed in product(MULTI, range(scale.seeds)):
                yield Run(layer, objective, mapper, seed, scale.samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        long = make_arenas(finished, scale.single_agent_samples)
        short = make_arenas(finished, scale.samples)
        there = [
            (mapper, arena)
            for pair in zip(long, short, strict=True)
            for arena, mappers in zip(pair, (SINGLE, MULTI), strict=True)
            for mapper in mappers
            if arena.has(mapper)
        ]
        keys = ("layer", "objective", "mapper", "samples")
        header = (*keys, "low", "mean", "high")
        rows = (row for mapper, arena in there for row in _returns(mapper, arena))
        self.put(places, _RETURNS, header, rows)
        ends = (_ends(mapper, arena) for mapper, arena in there)
        self.put(places, _ENDS, (*keys, "converged_return", "bests"), ends)
        reached = (*Reach.header("slow_"), *Reach.header("fast_"), "warm_up")
        rows = (row for pair in zip(long, short, strict=True) for row in compare(*pair))
        self.put(places, _SAMPLES, (*_KEYS, "value", *reached), rows)

    def view(self, results: Path) -> dict[str, Any]:
        rows, ends = self.rows(results, _SAMPLES), self.rows(results, _ENDS)
        own = select(rows, single=SINGLE[0], multi=MULTI[0])
        clustered = select(rows, single=SINGLE[0], multi=MULTI[1])
        steps = {
            problem: (printed, factor(found))
            for problem, printed in _PRINTED.items()
            if (found := _of(own, problem, CONVERGED))
        }
        final = final_costs(ends)
        converged = factor(select(own, target=CONVERGED))
        charged = factor(select(clustered, target=CONVERGED), charged=True)
        return {
            "tables": [(target, _table(rows, target)) for target in (CONVERGED, BEST, LAST)],
            "seeds": {row["mapper"]: len(row["bests"].split()) for row in ends},
            "steps": [
                (*problem, printed, found.told, _reaches(found, printed))
                for problem, (printed, found) in steps.items()
            ],
            "better": [
                (*problem, times, _interval(final[problem]), at_least(*final[problem][1:], times))
                for problem, times in _BETTER.items()
                if problem in final
            ],
            "converged": converged,
            "best": factor(select(own, target=BEST)).told,
            "charged": charged.told,
            "charged_last": factor(select(clustered, target=LAST), charged=True).told,
            "final": {", ".join(name): _interval(found) for name, found in final.items()},
            "matched": sum(low >= 1 - _MATCH for _, low, _ in final.values()),
            "verdicts": {
                "fewer": _reaches(converged, _FEWER),
                "charged": _reaches(charged, _MAGNITUDE),
                "final": everywhere(
                    at_least(low, high, 1 - _MATCH) for _, low, high in final.values()
                ),
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
        slow, fast = long.searches(single), short.searches(multi)
        converged, width = (
            reach.converged_return(slow),
            long.samples / len(windows_of(slow[0]).ends),
        )
        by_return = [samples_to_return(each, converged, width) for each in (slow, fast)]
        reached = [(CONVERGED, converged, by_return)]
        for target, samples in ((BEST, short.samples), (LAST, long.samples)):
            best = float(middle(bests(slow, samples)))
            reached.append((target, best, [samples_to_cost(each, best) for each in (slow, fast)]))
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
    searches = arena.searches(mapper)
    ends = " ".join(f"{each!r}" for each in bests(searches, arena.samples).tolist())
    return [*arena.problem, mapper, arena.samples, reach.converged_return(searches), ends]


def factor(rows: Rows, charged: bool = False) -> Factor:
    """Return how many times fewer samples MARL needs, geometric mean over rows of one target.

    Args:
        rows: of the file.
        charged: whether the warm-up counts.
    """
    pairs = [
        (slow, fast.after(int(row["warm_up"])) if charged else fast)
        for row in rows
        for slow, fast in [(Reach.of(row, "slow_"), Reach.of(row, "fast_"))]
    ]
    if not pairs:
        return Factor(1, "?", 0, np.inf)
    return mean_factor(pairs, own=rows[0]["target"] == CONVERGED)


def _of(rows: Rows, problem: tuple[str, str], target: str) -> Rows:
    return select(rows, layer=problem[0], objective=problem[1], target=target)


def _table(rows: Rows, target: str) -> list[list[str]]:
    """Return a line for each problem and single agent: what it needed, and both forms of MARL."""
    table = []
    for names, here in grouped(select(rows, target=target), "layer", "objective", "single"):
        layer, objective, single = names
        line = [f"{layer}, {objective}: {single}", str(Reach.of(here[0], "slow_"))]
        for multi in MULTI:
            found = select(here, multi=multi)
            line += [str(Reach.of(found[0], "fast_")), str(factor(found))] if found else ["-"] * 2
        line.append(str(factor(select(here, multi=MULTI[1]), charged=True)))
        printed = f"{_PRINTED[layer, objective]}x" if single == SINGLE[0] else ""
        table.append([*line, printed])
    return table


def _reaches(found: Factor, threshold: float) -> bool | None:
    return at_least(found.low, found.high, threshold)


Costs = dict[tuple[str, str], tuple[float, float, float]]


def final_costs(ends: Rows) -> Costs:
    """Return what ``ppo`` ends with in multiples of ``marl``, with its interval, by problem."""
    found = {
        (row["layer"], row["objective"], row["mapper"]): np.array(
            row["bests"].split(), dtype=np.float64
        )
        for row in ends
    }
    both = {
        problem: [found.get((*problem, mapper)) for mapper in (SINGLE[0], MULTI[0])]
        for problem in _PRINTED
    }
    return {
        problem: ratio_of_medians(slow, fast)
        for problem, (slow, fast) in both.items()
        if slow is not None and fast is not None
    }


def ratio_of_medians(tops: Floats, bottoms: Floats) -> tuple[float, float, float]:
    """Return the ratio of medians over seeds, and its 95 % bootstrap interval.

    With one seed the interval is everything.
    """

    def ratio(drawn: Sequence[Floats]) -> Floats:
        # Infinite over infinite is not a number, and is sorted behind all.
        with np.errstate(invalid="ignore"):
            return np.asarray(middle(drawn[0]) / middle(drawn[1]))

    if min(len(tops), len(bottoms)) < 2:
        return float(ratio([tops, bottoms])), 0.0, np.inf
    low, high = stratified_interval([tops, bottoms], ratio)
    return float(ratio([tops, bottoms])), float(low), float(high)


def _interval(found: tuple[float, float, float]) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*found)
