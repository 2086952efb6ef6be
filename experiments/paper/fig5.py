"""Fig. 5: mean return against samples of MARL and of single-agent RL, and the samples both need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.csv_files import write_csv
from experiments.paper import plots, reach
from experiments.paper.frame import (
    LAYERS,
    Item,
    Places,
    Row,
    Rows,
    Scale,
    at_least,
    everywhere,
    log_spaced,
)
from experiments.paper.ledger import Arena, Finished, Run, make_arenas
from experiments.paper.reach import Factor, Reach, bests, mean_factor, middle, windows_of
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
        write_csv(self.file(places.results, _RETURNS), header, rows)
        ends = (_ends(mapper, arena) for mapper, arena in there)
        write_csv(self.file(places.results, _ENDS), (*keys, "converged_return", "bests"), ends)
        pairs = zip(long, short, strict=True)
        compared = (each.row() for pair in pairs for each in compare(*pair))
        write_csv(self.file(places.results, _SAMPLES), Comparison.header(), compared)

    def view(self, results: Path) -> dict[str, Any]:
        comparisons = [Comparison.of(row) for row in self.rows(results, _SAMPLES)]
        ends = self.rows(results, _ENDS)
        own = {
            (each.problem, each.target): each
            for each in comparisons
            if (each.single, each.multi) == (SINGLE[0], MULTI[0])
        }
        steps = {
            problem: (printed, own[problem, CONVERGED].factor, own[problem, BEST].factor)
            for problem, printed in _PRINTED.items()
            if (problem, CONVERGED) in own
        }
        final = final_costs(ends)
        converged = _mean(comparisons, MULTI[0], CONVERGED)
        charged = _mean(comparisons, MULTI[1], CONVERGED)
        return {
            "tables": [(target, _table(comparisons, target)) for target in (CONVERGED, BEST, LAST)],
            "seeds": {row["mapper"]: len(row["bests"].split()) for row in ends},
            "steps": [
                (*problem, printed, factor.told, best.told, _reaches(factor, printed))
                for problem, (printed, factor, best) in steps.items()
            ],
            "better": [
                (*problem, times, _interval(final[problem]), at_least(*final[problem][1:], times))
                for problem, times in _BETTER.items()
                if problem in final
            ],
            "converged": str(converged),
            "converged_told": converged.told,
            "best": _mean(comparisons, MULTI[0], BEST).told,
            "charged": charged.told,
            "charged_last": _mean(comparisons, MULTI[1], LAST).told,
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


@dataclass(frozen=True)
class Comparison:
    """What a single agent and MARL needed to get where the single agent got.

    Args:
        layer: of the problem.
        objective: of the problem.
        single: the single agent.
        target: ``CONVERGED``, ``BEST`` or ``LAST``.
        multi: form of MARL.
        value: the mean return, or the cost.
        slow: what the single agent needed.
        fast: what MARL needed, without its warm-up.
        warm_up: samples that MARL spent before each search.
    """

    layer: str
    objective: str
    single: str
    target: str
    multi: str
    value: float
    slow: Reach
    fast: Reach
    warm_up: int

    @staticmethod
    def header() -> list[str]:
        """Return the columns of the file."""
        return [*_KEYS, "value", *Reach.header("slow_"), *Reach.header("fast_"), "warm_up"]

    def row(self) -> list[object]:
        """Return it as a row of the file."""
        keys = (getattr(self, key) for key in _KEYS)
        return [*keys, self.value, *self.slow.row(), *self.fast.row(), self.warm_up]

    @classmethod
    def of(cls, row: Row) -> Comparison:
        """Read a row of the file."""
        layer, objective, single, target, multi = (row[key] for key in _KEYS)
        slow, fast = Reach.of(row, "slow_"), Reach.of(row, "fast_")
        value, warm_up = float(row["value"]), int(row["warm_up"])
        return cls(layer, objective, single, target, multi, value, slow, fast, warm_up)

    @property
    def problem(self) -> tuple[str, str]:
        """Layer and objective."""
        return self.layer, self.objective

    @property
    def charged(self) -> Reach:
        """What MARL needed, with its warm-up."""
        return self.fast.after(self.warm_up)

    @cached_property
    def factor(self) -> Factor:
        """Times fewer samples that MARL needs, the warm-up not counted."""
        return mean_factor([(self.slow, self.fast)], own=self.target == CONVERGED)


def compare(long: Arena, short: Arena) -> Iterator[Comparison]:
    """Yield what single agents and MARL needed to reach what the single agents reached.

    Args:
        long: the single agents' searches on a problem.
        short: MARL's, whose budget decides what ``BEST`` is.
    """
    for single, multi in product(SINGLE, MULTI):
        if not (long.has(single) and short.has(multi)):
            continue
        slow, fast = long.searches(single), short.searches(multi)
        mean_return = reach.converged_return(slow)
        by_return = partial(
            reach.samples_to_return, mean_return=mean_return, width=reach.width_of(slow[0])
        )
        reaches = [(CONVERGED, mean_return, by_return(slow), by_return(fast))]
        for target, samples in ((BEST, short.samples), (LAST, long.samples)):
            best = float(middle(bests(slow, samples)))
            needed, sooner = (reach.samples_to_cost(each, best) for each in (slow, fast))
            reaches.append((target, best, needed, sooner))
        warm_up = max(each.warm_up for each in fast)
        for target, value, needed, sooner in reaches:
            keys = (*short.problem, single, target, multi)
            yield Comparison(*keys, value, needed, sooner, warm_up)


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


def _table(comparisons: Sequence[Comparison], target: str) -> list[list[str]]:
    """Return a line for each problem and single agent: what it needed, and both forms of MARL."""
    found: dict[tuple[str, str, str], dict[str, Comparison]] = {}
    for each in comparisons:
        if each.target == target:
            found.setdefault((*each.problem, each.single), {})[each.multi] = each
    rows = []
    for (layer, objective, single), multis in found.items():
        line = [f"{layer}, {objective}: {single}", str(next(iter(multis.values())).slow)]
        for multi in (multis.get(name) for name in MULTI):
            line += [str(multi.fast), str(multi.factor)] if multi else ["-", "-"]
            if multi and multi.warm_up:
                line.append(str(mean_factor([(multi.slow, multi.charged)])))
        printed = f"{_PRINTED[layer, objective]}x" if single == SINGLE[0] else ""
        rows.append([*line, printed])
    return rows


def _mean(comparisons: Sequence[Comparison], multi: str, target: str) -> Factor:
    """Return the geometric mean over problems of the factors to what ``ppo`` reached.

    The warm-up is counted.
    """
    pairs = [
        (each.slow, each.charged)
        for each in comparisons
        if (each.single, each.multi, each.target) == (SINGLE[0], multi, target)
    ]
    return mean_factor(pairs, own=target == CONVERGED) if pairs else Factor(1, "?", 0, np.inf)


def _reaches(factor: Factor, threshold: float) -> bool | None:
    return at_least(factor.low, factor.high, threshold)


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
