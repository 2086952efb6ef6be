"""Fig. 6: numbers of agents, and clustered against random and reversed grouping."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper import plots
from experiments.paper.frame import Item, Places, Scale, log_spaced, searches
from experiments.paper.ledger import Arena, Finished, Run, goal, make_arenas
from experiments.paper.ratios import RATIO_COLUMNS, Ratio, ratio_rows, tally
from experiments.paper.reach import windows_of
from experiments.paper.rows import Row, Rows, grouped, pivot, select
from experiments.paper.verdicts import at_least, everywhere, mostly
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
        """Its name and settings, the shortest ones: other items have the same."""
        if not self.grouping:
            return f"marl:agents={self.agents}" if self.agents else "marl"
        changes = {"agents": str(self.agents), "grouping": self.grouping, "measure": self.measure}
        if self.grouping == "clustered":
            del changes["grouping"]
        if self.measure != INTERACTION:
            del changes["measure"]
        if self == Variant(6, "clustered", PEARSON):
            del changes["agents"]
        return ":".join(["marl_clustered", *map("=".join, changes.items())])

    def __str__(self) -> str:
        agents = "one per parameter" if self == ALL else str(self.agents)
        return ", ".join(part for part in (agents, self.grouping, self.measure) if part)

    @property
    def told(self) -> str:
        """How parameters are shared out; empty if there is nothing to share out."""
        return " by ".join(part for part in (self.grouping, self.measure) if part)

    @classmethod
    def of(cls, row: Row) -> Variant:
        """Read it from a row of a file."""
        return cls(int(row["agents"]), row["grouping"], row["measure"])


_COLUMNS = ("agents", "grouping", "measure")
ONE, ALL = Variant(1), Variant(0)
_BEST = [Variant(agents, "clustered", PEARSON) for agents in _PRINTED]


def variants(agents: Iterable[int]) -> list[Variant]:
    """Return one agent, every grouping of each number of agents, and one agent per parameter."""
    return [ONE, *(Variant(each, *how) for each in agents for how in _GROUPINGS), ALL]


def numbers(agents: Iterable[int]) -> list[Variant]:
    """Return one agent, each number of agents clustered by Pearson's r, and one per parameter."""
    return [ONE, *(Variant(each, "clustered", PEARSON) for each in agents), ALL]


def rivals(agents: Iterable[int]) -> list[tuple[Variant, Variant]]:
    """Return each number of agents with each that claims compare it with: one, and the best."""
    one, *several = numbers(agents)
    best = [each for each in _BEST if each in several]
    return [(each, base) for base in (one, *best) for each in several if each != base]


class Fig6(Item):
    """The final learner with other agents."""

    name = "fig6"

    def runs(self, scale: Scale) -> Iterable[Run]:
        mappers = [variant.mapper for variant in variants(scale.agents)]
        problems = product(scale.figure_layers, scale.objectives, scale.hardware)
        for layer, objective, hardware in problems:
            yield from searches([layer], [objective], mappers, scale.seeds, scale.samples, hardware)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)

        def compared(
            variant: Variant, base: Variant, hardware: str = _EVERY
        ) -> Iterator[list[object]]:
            here = [arena for arena in arenas if hardware in (_EVERY, arena.hardware)]
            for row in ratio_rows(here, variant.mapper, base.mapper, scale.checkpoints):
                yield [*astuple(variant), *row]

        several = variants(scale.agents)
        against_random = [
            (each, Variant(each.agents, "random"))
            for each in several
            if each.grouping not in ("", "random")
        ]
        header = (*_COLUMNS, *RATIO_COLUMNS)
        for name, pairs in (
            (_NUMBERS, [(each, ALL) for each in several]),
            (_DUELS, against_random),
        ):
            rows = (
                [hardware, *row]
                for pair, hardware in product(pairs, (_EVERY, *scale.hardware))
                for row in compared(*pair, hardware)
            )
            self.put(places, name, ("hardware", *header), rows)
        rivalry = (
            [base.agents, *row]
            for variant, base in rivals(scale.agents)
            for row in compared(variant, base)
        )
        self.put(places, _RIVALS, ("to", *header), rivalry)
        self.put(places, _VALID, ("layer", "hardware", "valid", "of"), _valid(scale))
        curves = (row for variant in numbers(scale.agents) for row in _curve(arenas, variant))
        self.put(places, _CURVES, (*_COLUMNS, "samples", "share", "low", "high"), curves)

    def view(self, results: Path) -> dict[str, Any]:
        costs = self._costs(results)
        ratios = [ratio for found in costs.values() for ratio in found]
        duels = [row for row in self.rows(results, _DUELS) if row["hardware"] != _EVERY]
        pearson = tally(_ratios(select(duels, grouping="clustered", measure=PEARSON)))
        rivalry = {
            (int(to), int(agents)): _ratios(rows)
            for (to, agents), rows in grouped(self.rows(results, _RIVALS), "to", "agents").items()
        }
        against_one = [ratio for (to, _), found in rivalry.items() if to == 1 for ratio in found]
        best = [optimal(rivalry, at) for at in sorted({ratio.samples for ratio in ratios})]
        few = [costs[each][-1] for each in costs if each in _BEST]
        return {
            "costs": pivot(
                "agents",
                select(self.rows(results, _NUMBERS), hardware=_EVERY),
                ("samples",),
                Ratio.of,
                Variant.of,
            ),
            "problems": max((ratio.problems for ratio in ratios), default=0),
            "duels": [
                [hardware, f"{grouping}, {measure}".removesuffix(", "), *_summary(_ratios(rows))]
                for (hardware, grouping, measure), rows in grouped(
                    duels, "hardware", "grouping", "measure"
                ).items()
            ],
            "valid": self.rows(results, _VALID),
            "one": tally(against_one),
            "all_to_one": rivalry.get((1, ALL.agents), []),
            "best": [best.count(verdict) for verdict in (True, False, None)],
            "few": few,
            "pearson": pearson,
            "verdicts": {
                "one": everywhere(ratio.better for ratio in against_one),
                # By most numbers of samples: at a single one it may be chance.
                "optimal": mostly(best.count(True), best.count(False), len(best)),
                "few": everywhere(map(_is_level, few)),
                "pearson": mostly(*pearson[:2], sum(pearson)),
            },
        }

    def draw(self, places: Places) -> None:
        costs = self._costs(places.results)
        lines = {(each.told, each.agents or PARAMETERS): found for each, found in costs.items()}
        plots.draw_costs(lines, PARAMETERS, places.images / "fig6.png")
        curves = {
            int(agents) or PARAMETERS: rows
            for (agents,), rows in grouped(self.rows(places.results, _CURVES), "agents").items()
        }
        plots.draw_shares(curves, places.images / "fig6-returns.png")

    def _costs(self, results: Path) -> dict[Variant, list[Ratio]]:
        """Return costs in multiples of those of one agent per parameter, over all hardware."""
        rows = select(self.rows(results, _NUMBERS), hardware=_EVERY)
        return {Variant.of(found[0]): _ratios(found) for found in grouped(rows, *_COLUMNS).values()}


def _ratios(rows: Rows) -> list[Ratio]:
    return list(map(Ratio.of, rows))


def _valid(scale: Scale) -> Iterator[list[object]]:
    """Yield how many of such random mappings as groups are learnt from are valid."""
    for layer, hardware in product(scale.figure_layers, scale.hardware):
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

    strata = []
    for arena in arenas:
        best = reference(arena.contest.goal) / arena.contest.best_known
        returns = np.stack([windows_of(each).returns for each in arena.searches(mapper)])
        strata.append(returns[:, windows] / best)
    return mean(strata), *stratified_interval(strata, mean)


def _summary(duels: Sequence[Ratio]) -> list[object]:
    """Sum up comparisons of a grouping with random groups."""
    ratios = [each.ratio for each in duels if not math.isnan(each.ratio)]
    span = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "-"
    return [*tally(duels), span, sum(each.without + each.alone for each in duels)]


# --- Claims -------------------------------------------------------------------------------------


def optimal(rivalry: Mapping[tuple[int, int], Sequence[Ratio]], samples: int) -> bool | None:
    """Say whether one of the paper's best numbers of agents beats every other after some samples.

    Args:
        rivalry: what a number of agents costs in multiples of another, by the other and it.
        samples: how many.

    Returns:
        False if another number beats each of the best, None if neither is for certain.
    """
    beats = {
        pair: ratio.better
        for pair, found in rivalry.items()
        for ratio in found
        if ratio.samples == samples
    }
    best = {to for to, _ in rivalry if to in _PRINTED}
    others = {agents for to, agents in rivalry if to in best} - best
    if not others:
        return None
    if any(all(beats.get((to, other)) is True for to in best) for other in others):
        return False
    won = any(all(beats.get((to, other)) is False for other in others) for to in best)
    return True if won else None


def _is_level(ratio: Ratio) -> bool | None:
    """Say whether a cost is competitive; None if its interval or what it leaves out is open."""
    verdict = at_least(-ratio.high, -ratio.low, -_LEVEL)
    left_out = ratio.without if verdict else ratio.alone
    return None if left_out else verdict
