"""Fig. 6: numbers of agents, and clustered against random and reversed grouping."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper import plots
from experiments.paper.frame import (
    LAYERS,
    Item,
    Places,
    Row,
    Rows,
    Scale,
    at_least,
    everywhere,
    grouped,
    log_spaced,
    mostly,
    pivot,
    select,
)
from experiments.paper.ledger import Arena, Finished, Run, goal, make_arenas
from experiments.paper.ratios import RatioRow, ratio_rows, tally
from experiments.paper.reach import windows_of
from experiments.stats import Floats, stratified_interval
from experiments.windows import reference
from maestro_env.problem import OK

PARAMETERS = 13
"""Of the map space: as many agents are one per parameter."""
PEARSON, INTERACTION = "pearson", "interaction"
_GROUPINGS = (
    ("clustered", PEARSON),
    ("clustered", INTERACTION),
    ("reversed", PEARSON),
    ("random", ""),
)
_NUMBERS, _DUELS, _RIVALS = "numbers.csv", "duels.csv", "rivals.csv"
_CURVES, _VALID = "curves.csv", "valid.csv"
_EVERY = "all hardware"
_PRINTED = (9, 6)
"""The paper's best numbers of agents."""
# How much cost still counts as competitive.
_LEVEL = 1.01
_WARM_UP = 20_000


@dataclass(frozen=True)
class Variant:
    """A form of MARL.

    Args:
        agents: how many; 0 for one per parameter.
        grouping: how parameters are shared out; empty for one agent or all.
        measure: of dependence that the grouping uses, if it does.
    """

    agents: int
    grouping: str = ""
    measure: str = ""

    @property
    def mapper(self) -> str:
        """Its name and settings, the shortest ones, as other items have them too."""
        if not self.grouping:
            return f"marl:agents={self.agents}" if self.agents else "marl"
        if self == _DEFAULT:
            return "marl_clustered"
        changes = [f"agents={self.agents}"]
        if self.grouping != "clustered":
            changes.append(f"grouping={self.grouping}")
        if self.measure == INTERACTION:
            changes.append(f"measure={self.measure}")
        return ":".join(("marl_clustered", *changes))

    def __str__(self) -> str:
        agents = {0: "one per parameter", 1: "1"}.get(self.agents, str(self.agents))
        return ", ".join(part for part in (agents, self.grouping, self.measure) if part)

    @property
    def told(self) -> str:
        """How parameters are shared out; empty if there is nothing to share out."""
        return " by ".join(part for part in (self.grouping, self.measure) if part)

    @staticmethod
    def header() -> tuple[str, ...]:
        """Return its columns of a file."""
        return tuple(field.name for field in fields(Variant))

    @classmethod
    def of(cls, row: Row) -> Variant:
        """Read it from a row of a file."""
        return cls(int(row["agents"]), row["grouping"], row["measure"])


ONE, ALL = Variant(1), Variant(0)
_DEFAULT = Variant(6, "clustered", PEARSON)


def variants(agents: Iterable[int]) -> list[Variant]:
    """Return one agent, every grouping of each number of agents, and one agent per parameter."""
    return [ONE, *(Variant(each, *how) for each in agents for how in _GROUPINGS), ALL]


def numbers(agents: Iterable[int]) -> list[Variant]:
    """Return one agent, each number of agents clustered by Pearson's r, and one per parameter."""
    return [ONE, *(Variant(each, "clustered", PEARSON) for each in agents), ALL]


def rivals(agents: Iterable[int]) -> list[tuple[Variant, Variant]]:
    """Return each number of agents with each that claims compare it with: one, and the best."""
    one, *several = numbers(agents)
    best = [each for number in _PRINTED for each in several if each.agents == number]
    return [(each, base) for base in (one, *best) for each in several if each != base]


class Fig6(Item):
    """The final learner with other agents."""

    name = "fig6"

    def runs(self, scale: Scale) -> Iterable[Run]:
        layers = [layer for layer in LAYERS if layer in scale.layers]
        problems = product(layers, scale.objectives, scale.hardware)
        for (layer, objective, hardware), variant in product(problems, variants(scale.agents)):
            for seed in range(scale.seeds):
                yield Run(layer, objective, variant.mapper, seed, scale.samples, hardware)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)
        several = variants(scale.agents)
        columns = (*Variant.header(), *RatioRow.header())

        def compared(pairs: Sequence[tuple[Variant, Variant]]) -> Iterator[list[object]]:
            for (variant, base), hardware in product(pairs, (_EVERY, *scale.hardware)):
                here = [arena for arena in arenas if hardware in (_EVERY, arena.hardware)]
                for row in ratio_rows(here, variant.mapper, base.mapper, scale.checkpoints):
                    yield [hardware, *astuple(variant), *row.row()]

        duels = [
            (each, Variant(each.agents, "random"))
            for each in several
            if each.grouping not in ("", "random")
        ]
        rivalry = (
            [base.agents, *astuple(variant), *row.row()]
            for variant, base in rivals(scale.agents)
            for row in ratio_rows(arenas, variant.mapper, base.mapper, scale.checkpoints)
        )
        self.put(
            places, _NUMBERS, ("hardware", *columns), compared([(each, ALL) for each in several])
        )
        self.put(places, _DUELS, ("hardware", *columns), compared(duels))
        self.put(places, _RIVALS, ("to", *columns), rivalry)
        self.put(places, _VALID, ("layer", "hardware", "valid", "of"), _valid(scale))
        curves = (row for variant in numbers(scale.agents) for row in _curve(arenas, variant))
        self.put(places, _CURVES, (*Variant.header(), "samples", "share", "low", "high"), curves)

    def view(self, results: Path) -> dict[str, Any]:
        costs = self._costs(results)
        duels = [row for row in self.rows(results, _DUELS) if row["hardware"] != _EVERY]
        pearson = list(map(RatioRow.of, select(duels, grouping="clustered", measure=PEARSON)))
        rivalry = {
            (int(to), int(agents)): list(map(RatioRow.of, rows))
            for (to, agents), rows in grouped(self.rows(results, _RIVALS), "to", "agents")
        }
        samples = sorted({row.samples for rows in costs.values() for row in rows})
        against_one = [row for (to, _), rows in rivalry.items() if to == 1 for row in rows]
        best = {at: optimal(rivalry, at) for at in samples}
        few = {each.agents: costs[each][-1] for each in costs if _is_printed(each)}
        told_apart = list(best.values())
        return {
            "costs": pivot(
                "agents",
                select(self.rows(results, _NUMBERS), hardware=_EVERY),
                ("samples",),
                lambda row: str(RatioRow.of(row)),
                lambda row: str(Variant.of(row)),
            ),
            "problems": max((row.problems for rows in costs.values() for row in rows), default=0),
            "duels": [
                [hardware, f"{grouping}, {measure}".removesuffix(", "), *_summary(rows)]
                for (hardware, grouping, measure), rows in grouped(
                    duels, "hardware", "grouping", "measure"
                )
            ],
            "valid": self.rows(results, _VALID),
            "one": tally(against_one),
            "all_to_one": [str(row) for row in rivalry.get((1, ALL.agents), [])],
            "best": [told_apart.count(verdict) for verdict in (True, False, None)],
            "few": {agents: str(row) for agents, row in few.items()},
            "pearson": tally(pearson),
            "verdicts": {
                "one": everywhere(row.better for row in against_one),
                # By most numbers of samples: at a single one it may be chance.
                "optimal": mostly(told_apart.count(True), told_apart.count(False), len(best)),
                "few": everywhere(map(_is_level, few.values())),
                "pearson": mostly(*tally(pearson)[:2], len(pearson)),
            },
        }

    def draw(self, places: Places) -> None:
        costs = self._costs(places.results)
        lines = {(each.told, each.agents or PARAMETERS): rows for each, rows in costs.items()}
        plots.draw_costs(lines, PARAMETERS, places.images / "fig6.png")
        curves = {
            int(agents) or PARAMETERS: rows
            for (agents,), rows in grouped(self.rows(places.results, _CURVES), "agents")
        }
        plots.draw_shares(curves, places.images / "fig6-returns.png")

    def _costs(self, results: Path) -> dict[Variant, list[RatioRow]]:
        """Return costs in multiples of those of one agent per parameter, over all hardware."""
        rows = select(self.rows(results, _NUMBERS), hardware=_EVERY)
        return {
            Variant.of(found[0]): list(map(RatioRow.of, found))
            for _, found in grouped(rows, *Variant.header())
        }


def _valid(scale: Scale) -> Iterator[list[object]]:
    """Yield how many of such random mappings as groups are learnt from are valid."""
    layers = [layer for layer in LAYERS if layer in scale.layers]
    for layer, hardware in product(layers, scale.hardware):
        problem = goal(Run(layer, scale.objectives[0], ALL.mapper, 0, 1, hardware)).problem
        points = problem.space.sample(_WARM_UP, np.random.default_rng(0))
        valid = np.count_nonzero(problem.evaluate(points).status == OK)
        yield [layer, hardware, valid, _WARM_UP]


def _curve(arenas: Sequence[Arena], variant: Variant) -> Iterator[list[object]]:
    """Yield the mean return in some windows, and its interval."""
    there = [arena for arena in arenas if arena.has(variant.mapper)]
    if there:
        ends = windows_of(there[0].searches(variant.mapper)[0]).ends
        kept = log_spaced(len(ends))
        for end, *figures in zip(ends[kept], *mean_share(there, variant.mapper, kept), strict=True):
            yield [*astuple(variant), end, *(f"{each:.4f}" for each in figures)]


def mean_share(
    arenas: Sequence[Arena], mapper: str, windows: Sequence[int]
) -> tuple[Floats, Floats, Floats]:
    """Return a mapper's mean return in W windows as a share of the best known's.

    Returns:
        Mean over arenas and seeds, and the ends of its interval, float64[W] each.
    """

    def mean(strata: Sequence[Floats]) -> Floats:
        return np.asarray(np.mean([np.mean(stratum, axis=0) for stratum in strata], axis=0))

    strata = [_shares(arena, mapper)[:, windows] for arena in arenas]
    return mean(strata), *stratified_interval(strata, mean)


def _shares(arena: Arena, mapper: str) -> Floats:
    best = reference(arena.contest.goal) / arena.contest.best_known
    return np.stack([windows_of(each).returns for each in arena.searches(mapper)]) / best


def _summary(rows: Rows) -> list[str]:
    """Sum up comparisons of a grouping with random groups."""
    found = list(map(RatioRow.of, rows))
    ratios = [row.ratio for row in found if not math.isnan(row.ratio)]
    apart = sum(row.without + row.alone for row in found)
    span = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "-"
    return [*map(str, tally(found)), span, str(apart)]


# --- Claims -------------------------------------------------------------------------------------


def _is_printed(variant: Variant) -> bool:
    how = variant.grouping, variant.measure
    return variant.agents in _PRINTED and how == ("clustered", PEARSON)


def optimal(rivalry: Mapping[tuple[int, int], Sequence[RatioRow]], samples: int) -> bool | None:
    """Say whether one of the paper's best numbers of agents beats every other after some samples.

    Args:
        rivalry: what a number of agents costs in multiples of another, by the other and it.
        samples: how many.

    Returns:
        False if another number beats each of the best, None if neither is for certain.
    """
    beats = {pair: _better_at(rows, samples) for pair, rows in rivalry.items()}
    best = {to for to, _ in beats if to in _PRINTED}
    others = {agents for to, agents in beats if to in best} - best
    if not others:
        return None
    if any(all(beats.get((to, other)) is True for to in best) for other in others):
        return False
    won = any(all(beats.get((to, other)) is False for other in others) for to in best)
    return True if won else None


def _better_at(rows: Sequence[RatioRow], samples: int) -> bool | None:
    return next((row.better for row in rows if row.samples == samples), None)


def _is_level(row: RatioRow) -> bool | None:
    """Say whether a cost is competitive; None if its interval or what it leaves out is open."""
    verdict = at_least(-row.high, -row.low, -_LEVEL)
    if math.isnan(row.low):
        return None
    return None if verdict is not None and (row.without if verdict else row.alone) else verdict
