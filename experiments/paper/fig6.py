"""Fig. 6: numbers of agents, and clustered against random and reversed grouping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from experiments.paper import plots
from experiments.paper.frame import Item, Scale, log_spaced, searches
from experiments.paper.ledger import Arena, Finished, Run, goal, make_arenas
from experiments.paper.ratios import RATIO_COLUMNS, Ratio, ratio_rows
from experiments.paper.rows import Row, Rows, grouped, pivot, select
from experiments.paper.verdicts import at_most, everywhere, mostly, tally
from experiments.search.windows import reference
from experiments.shown.statistics import Floats, stratified_interval
from maestro_env.evaluation.status import OK

PARAMETERS = 13
"""Of the map space: as many agents are one per parameter."""
PEARSON, INTERACTION = "pearson", "interaction"
_PAPERS = ("clustered", PEARSON)
_GROUPINGS = (_PAPERS, ("clustered", INTERACTION), ("reversed", PEARSON), ("random", ""))
_NUMBERS, _DUELS, _RIVALS = "numbers.csv", "duels.csv", "rivals.csv"
_CURVES, _VALID = "curves.csv", "valid.csv"
_EVERY = "all hardware"
_PRINTED = (9, 6)
"""The paper's best numbers of agents."""
# How much cost still counts as competitive.
_LEVEL = 1.01
_WARM_UP = 20_000


class Variant(NamedTuple):
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
        parts = ["marl_clustered"]
        if self != Variant(6, *_PAPERS):
            parts.append(f"agents={self.agents}")
        if self.grouping != "clustered":
            parts.append(f"grouping={self.grouping}")
        if self.measure == INTERACTION:
            parts.append(f"measure={self.measure}")
        return ":".join(parts)

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


ONE, ALL = Variant(1), Variant(0)
_BEST = [Variant(agents, *_PAPERS) for agents in _PRINTED]


def variants(
    agents: Iterable[int], groupings: Sequence[tuple[str, str]] = _GROUPINGS
) -> list[Variant]:
    """Return one agent, some groupings of each number of agents, and one agent per parameter."""
    return [ONE, *(Variant(each, *how) for each in agents for how in groupings), ALL]


class Fig6(Item):
    """The final learner with other agents."""

    name = "fig6"

    def runs(self) -> Iterator[Run]:
        scale = self.scale
        mappers = [variant.mapper for variant in variants(scale.agents)]
        problems = scale.figure_layers, scale.objectives
        return searches(*problems, mappers, scale.seeds, scale.samples, scale.hardware)

    def write(self, finished: Mapping[Run, Finished]) -> None:
        scale = self.scale
        arenas = make_arenas(finished, scale.samples)
        groups = {
            hardware: [arena for arena in arenas if hardware in (_EVERY, arena.hardware)]
            for hardware in (_EVERY, *scale.hardware)
        }
        several = variants(scale.agents)
        against_random = [
            (each, Variant(each.agents, "random"))
            for each in several
            if each.grouping not in ("", "random")
        ]
        header = (*Variant._fields, *RATIO_COLUMNS)
        for name, pairs in ((_NUMBERS, product(several, [ALL])), (_DUELS, against_random)):
            compared = (
                ((hardware, *each), here, each.mapper, base.mapper)
                for (each, base), (hardware, here) in product(pairs, groups.items())
            )
            self.put(name, ("hardware", *header), ratio_rows(compared, scale.checkpoints))
        one, *numbers = paper = variants(scale.agents, [_PAPERS])
        # Claims compare each number of agents with one and with the paper's best.
        claimed = (
            ((base.agents, *each), arenas, each.mapper, base.mapper)
            for base, each in product([one, *_BEST], numbers)
            if base != each and base in paper
        )
        self.put(_RIVALS, ("to", *header), ratio_rows(claimed, scale.checkpoints))
        self.put(_VALID, ("layer", "hardware", "valid", "of"), _valid(scale))
        curves = (row for each in paper for row in _curve(arenas, each))
        self.put(_CURVES, (*Variant._fields, "samples", "share", "low", "high"), curves)

    def view(self) -> dict[str, Any]:
        costs = self.rows(_NUMBERS, hardware=_EVERY)
        duels = [row for row in self.rows(_DUELS) if row["hardware"] != _EVERY]
        by_pearson = select(duels, grouping="clustered", measure=PEARSON)
        pearson = [each.better for each in map(Ratio.of, by_pearson)]
        rivalry = self.rows(_RIVALS)
        one = [each.better for each in map(Ratio.of, select(rivalry, to="1"))]
        best = [optimal(_beats(rivalry, samples)) for (samples,) in grouped(costs, "samples")]
        few = [found[-1] for variant, found in self._costs() if variant in _BEST]
        return {
            "costs": pivot("agents", costs, ("samples",), Ratio.of, Variant.of),
            "problems": max((int(row["problems"]) for row in costs), default=0),
            "duels": [
                (*groups, list(map(Ratio.of, rows)))
                for groups, rows in grouped(duels, "hardware", "grouping", "measure").items()
            ],
            "valid": self.rows(_VALID),
            "one": tally(one),
            "all_to_one": list(map(Ratio.of, select(rivalry, to="1", agents=str(ALL.agents)))),
            "best": tally(best),
            "few": few,
            "pearson": tally(pearson),
            "verdicts": {
                "one": everywhere(one),
                # By most numbers of samples: at a single one it may be chance.
                "optimal": mostly(best),
                "few": everywhere(map(_is_level, few)),
                "pearson": mostly(pearson),
            },
        }

    def draw(self) -> None:
        lines = {(each.told, each.agents or PARAMETERS): found for each, found in self._costs()}
        plots.draw_costs(lines, PARAMETERS, self.images / "fig6.png")
        curves = {
            int(agents) or PARAMETERS: rows
            for (agents,), rows in grouped(self.rows(_CURVES), "agents").items()
        }
        plots.draw_shares(curves, self.images / "fig6-returns.png")

    def _costs(self) -> Iterator[tuple[Variant, list[Ratio]]]:
        """Yield costs in multiples of those of one agent per parameter, over all hardware."""
        costs = self.rows(_NUMBERS, hardware=_EVERY)
        for rows in grouped(costs, *Variant._fields).values():
            yield Variant.of(rows[0]), list(map(Ratio.of, rows))


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
        ends = there[0].windows(variant.mapper)[0].ends
        kept = log_spaced(len(ends))
        for end, *figures in zip(ends[kept], *mean_share(there, variant.mapper, kept), strict=True):
            yield [*variant, end, *(f"{each:.4f}" for each in figures)]


def mean_share(
    arenas: Sequence[Arena], mapper: str, windows: Sequence[int]
) -> tuple[Floats, Floats, Floats]:
    """Return a mapper's mean return in W windows as a share of the best one found.

    Returns:
        Mean over arenas and seeds, and the ends of its interval, float64[W] each.
    """

    def mean(strata: Sequence[Floats]) -> Floats:
        return np.asarray(np.mean([np.mean(stratum, axis=0) for stratum in strata], axis=0))

    strata = []
    for arena in arenas:
        best = reference(arena.goal) / arena.best_found
        returns = np.stack([each.returns for each in arena.windows(mapper)])
        strata.append(returns[:, windows] / best)
    return mean(strata), *stratified_interval(strata, mean)


# --- Claims -------------------------------------------------------------------------------------

Beats = Mapping[tuple[int, int], bool | None]
"""Whether a number of agents costs less than another for certain, by the other and it."""


def _beats(rivalry: Rows, samples: str) -> Beats:
    """Return what rows tell after some samples; what they leave out is open."""
    beats: dict[tuple[int, int], bool | None] = {}
    for row in rivalry:
        pair = int(row["to"]), int(row["agents"])
        beats.setdefault(pair, None)
        if row["samples"] == samples:
            beats[pair] = Ratio.of(row).better
    return beats


def optimal(beats: Beats) -> bool | None:
    """Say whether one of the paper's best numbers of agents beats every other.

    Returns:
        False if another number beats each of the best, None if neither is for certain.
    """
    best = {to for to, _ in beats if to in _PRINTED}
    others = {agents for to, agents in beats if to in best} - best
    if not others:
        return None
    if any(all(beats.get((to, other)) is True for to in best) for other in others):
        return False
    won = any(all(beats.get((to, other)) is False for other in others) for to in best)
    return True if won else None


def _is_level(ratio: Ratio) -> bool | None:
    """Say whether a cost is competitive; None if its interval or what it leaves out is open."""
    verdict = at_most(ratio.low, ratio.high, _LEVEL)
    left_out = ratio.without if verdict else ratio.alone
    return None if left_out else verdict
