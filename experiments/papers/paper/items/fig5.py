"""Fig. 5: mean return against samples of MARL and of single-agent RL, and the samples both need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np

from maestro_env.experiments.papers.paper import results
from maestro_env.experiments.papers.paper.items import (
    FilledFolder,
    Folder,
    Item,
    Lines,
    Scale,
    log_spaced,
    searches,
)
from maestro_env.experiments.papers.paper.ledger import Arena, Run
from maestro_env.experiments.papers.paper.reach import (
    REACH_COLUMNS,
    Factor,
    Reach,
    at_least,
    converged_return,
    everywhere,
    interval,
    mean_factor,
    middle,
    samples_to_return,
)
from maestro_env.experiments.papers.paper.results import CsvRows, grouped, select
from maestro_env.experiments.shell.flags import unique
from maestro_env.experiments.shown.statistics import Floats

SINGLE = ("ppo", "ppo_box")
MULTI = ("marl", "marl_clustered")
CONVERGED, BEST, LAST = "converged return", "best", "last best"
"""Targets: what the single agent converged to; the best it found by MARL's budget, or in all."""

_OBJECTIVES = ("latency", "area", "edp")
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


def _runs(scale: Scale) -> Iterator[Run]:
    problems = scale.figure_layers, _OBJECTIVES
    yield from searches(*problems, SINGLE, scale.few_seeds, scale.single_agent_samples)
    yield from searches(*problems, MULTI, scale.seeds, scale.samples)


def _both(found: FilledFolder) -> list[tuple[Arena, Arena]]:
    """Return each problem with the long searches of single agents, and with MARL's short ones."""
    return list(zip(found.of(found.scale.single_agent_samples), found.arenas, strict=True))


def _there(found: FilledFolder) -> Iterator[tuple[Arena, str]]:
    for both in _both(found):
        for mapper, arena in product((*SINGLE, *MULTI), both):
            if arena.has(mapper):
                yield arena, mapper


def _returns(found: FilledFolder) -> Lines:
    yield ("layer", "objective", "mapper", "samples", "low", "mean", "high")
    for arena, mapper in _there(found):
        windows = arena.windows(mapper)
        returns = np.stack([each.returns for each in windows])
        columns = returns.min(axis=0), returns.mean(axis=0), returns.max(axis=0)
        for index in log_spaced(len(windows[0].ends)):
            figures = (f"{column[index]:.4g}" for column in columns)
            yield [*arena.problem, mapper, windows[0].ends[index], *figures]


def _ends(found: FilledFolder) -> Lines:
    yield ("layer", "objective", "mapper", "samples", "converged_return", "bests")
    for arena, mapper in _there(found):
        bests = " ".join(map(str, arena.bests_after(mapper, arena.samples).tolist()))
        converged = converged_return(arena.windows(mapper))
        yield [*arena.problem, mapper, arena.samples, converged, bests]


def _samples(found: FilledFolder) -> Lines:
    reached = (f"{who}_{name}" for who in ("slow", "fast") for name in REACH_COLUMNS)
    yield ("layer", "objective", "single", "target", "multi", "value", *reached, "warm_up")
    for long, short in _both(found):
        yield from compare(long, short)


def compare(long: Arena, short: Arena) -> Iterator[list[object]]:
    """Yield what single agents and MARL needed to reach what the single agents reached.

    Args:
        long: the single agents' searches on a problem.
        short: MARL's, whose budget decides what ``BEST`` is.
    """
    for single, multi in product(SINGLE, MULTI):
        if not (long.has(single) and short.has(multi)):
            continue
        both = long.windows(single), short.windows(multi)
        converged, width = converged_return(both[0]), long.samples / len(both[0][0].ends)
        by_return = [samples_to_return(each, converged, width) for each in both]
        reached = [(CONVERGED, converged, by_return)]
        for target, samples in ((BEST, short.samples), (LAST, long.samples)):
            best = long.median_best(single, samples)
            by_cost = [long.samples_to(single, best), short.samples_to(multi, best)]
            reached.append((target, best, by_cost))
        warm_up = max(each.warm_up for each in short.searches[multi])
        for target, value, (slow, fast) in reached:
            yield [*short.problem, single, target, multi, value, *slow.row(), *fast.row(), warm_up]


def _view(folder: Folder) -> dict[str, Any]:
    rows, ends = folder.rows("samples.csv"), folder.rows("ends.csv")
    own, clustered = (select(rows, single=SINGLE[0], multi=multi) for multi in MULTI)
    by_return = select(own, target=CONVERGED)
    converged = _factor(by_return)
    charged = _factor(select(clustered, target=CONVERGED), charged=True)
    final = final_costs(ends)
    level = [at_least(low, high, 1 - _MATCH) for _, low, high in final.values()]
    problems = grouped(by_return, "layer", "objective")
    steps = {problem: _factor(each) for problem, each in problems.items()}
    return {
        "tables": [(target, list(_table(rows, target))) for target in (CONVERGED, BEST, LAST)],
        "seeds": {row["mapper"]: len(row["bests"].split()) for row in ends},
        "steps": [
            (*problem, printed, found.told, at_least(found.low, found.high, printed))
            for problem, printed in _PRINTED.items()
            if (found := steps.get(problem))
        ],
        "better": [
            (*problem, times, final[problem], at_least(*final[problem][1:], times))
            for problem, times in _BETTER.items()
            if problem in final
        ],
        "converged": converged,
        "best": _factor(select(own, target=BEST)),
        "charged": charged,
        "charged_last": _factor(select(clustered, target=LAST), charged=True),
        "final": {", ".join(problem): cost for problem, cost in final.items()},
        "matched": level.count(True),
        "verdicts": {
            "fewer": at_least(converged.low, converged.high, _FEWER),
            "charged": at_least(charged.low, charged.high, _MAGNITUDE),
            "final": everywhere(level),
        },
    }


def _factor(rows: CsvRows, charged: bool = False) -> Factor:
    """Return how many times fewer samples MARL needs, with its warm-up or not, to one target."""
    slow = [Reach.of(row, "slow_") for row in rows]
    fast = [Reach.of(row, "fast_").after(charged * int(row["warm_up"])) for row in rows]
    own = CONVERGED in (row["target"] for row in rows)
    return mean_factor([*zip(slow, fast, strict=True)], own)


def _table(rows: CsvRows, target: str) -> Iterator[tuple[object, ...]]:
    """Yield what each single agent needed on each problem, and both forms of MARL."""
    here = grouped(select(rows, target=target), "layer", "objective", "single")
    for (layer, objective, single), found in here.items():
        slow = Reach.of(found[0], "slow_")
        fast = {row["multi"]: (Reach.of(row, "fast_"), _factor([row])) for row in found}
        charged = _factor(select(found, multi=MULTI[1]), charged=True)
        yield layer, objective, single, slow, fast, charged, _PRINTED[layer, objective]


def final_costs(ends: CsvRows) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """Return what ``ppo`` ends with in multiples of ``marl``, and its interval, by problem."""

    def ratio(both: Sequence[Floats]) -> Floats:
        slow, fast = map(middle, both)
        # Infinite over infinite is not a number, and is sorted behind all.
        with np.errstate(invalid="ignore"):
            return np.asarray(slow / fast)

    costs = {}
    for problem, rows in grouped(ends, "layer", "objective").items():
        bests = {row["mapper"]: np.array(row["bests"].split(), dtype=np.float64) for row in rows}
        if {SINGLE[0], MULTI[0]} <= bests.keys():
            both = [bests[SINGLE[0]], bests[MULTI[0]]]
            costs[problem] = float(ratio(both)), *interval(both, ratio)
    return costs


def _draw(folder: Folder) -> None:
    """Draw the mean return against samples, a panel a problem.

    Curves of mappers that were warmed up are drawn again behind these samples.
    """
    warm_ups = {row["multi"]: int(row["warm_up"]) for row in folder.rows("samples.csv")}
    rows = folder.rows("returns.csv")
    layers, objectives = (unique(row[key] for row in rows) for key in ("layer", "objective"))
    colours = dict(zip(unique(row["mapper"] for row in rows), cycle(results.COLOURS)))
    size = (4 * len(objectives), 3.2 * len(layers))
    figure, panels = results.make_panels(size, len(layers) * len(objectives), len(objectives))
    for (layer, objective), here in grouped(rows, "layer", "objective").items():
        axes = panels[layers.index(layer) * len(objectives) + objectives.index(objective)]
        for (mapper,), curve in grouped(here, "mapper").items():
            band = results.columns_of(curve, "samples", "mean", "low", "high")
            results.draw_band(axes, band, colours[mapper], mapper)
            if warm_up := warm_ups.get(mapper, 0):
                label = f"{mapper}, warm-up counted"
                axes.plot(band[0] + warm_up, band[1], ":", color=colours[mapper], label=label)
        results.finish(axes, f"{layer}: {objective}", **results.SAMPLES, ylabel="mean return")
    results.save_panels(figure, folder.images / "fig5.png")


ITEM = Item(
    "fig5",
    runs=_runs,
    files={"returns.csv": _returns, "ends.csv": _ends, "samples.csv": _samples},
    view=_view,
    draw=_draw,
)
