"""Fig. 6: numbers of agents, and clustered against random and reversed grouping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maestro_env.evaluation.cost_and_status import OK
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
from maestro_env.experiments.papers.paper.ledger import Arena, Run, goal
from maestro_env.experiments.papers.paper.ratios import Ratio, no_difference, ratio_lines
from maestro_env.experiments.papers.paper.reach import at_most, everywhere, mostly, tally
from maestro_env.experiments.papers.paper.results import CsvRow, CsvRows, grouped, pivot, select
from maestro_env.experiments.search.cells import reference
from maestro_env.experiments.shell.flags import unique
from maestro_env.experiments.shown.plots import GREY
from maestro_env.experiments.shown.statistics import Floats, stratified_interval

PARAMETERS = 13
"""Of the map space: as many agents are one per parameter."""
PEARSON, INTERACTION = "pearson", "interaction"
_PAPERS = ("clustered", PEARSON)
_GROUPINGS = (_PAPERS, ("clustered", INTERACTION), ("reversed", PEARSON), ("random", ""))
_EVERY = "all hardware"
_PRINTED = (9, 6)
"""The paper's best numbers of agents."""
# How much cost still counts as competitive.
_LEVEL = 1.01
_WARM_UP = 20_000
# Of the width between two numbers of agents, what the points of one take up.
_WIDTH = 0.5


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
        return ", ".join(filter(None, (agents, self.grouping, self.measure)))

    @property
    def number(self) -> int:
        """How many agents there are."""
        return self.agents or PARAMETERS

    @property
    def told(self) -> str:
        """How parameters are shared out."""
        return " by ".join(filter(None, (self.grouping, self.measure))) or "no grouping"

    @classmethod
    def of(cls, row: CsvRow) -> Variant:
        """Read it from a row of a file."""
        return cls(int(row["agents"]), row["grouping"], row["measure"])


ONE, ALL = Variant(1), Variant(0)
_BEST = [Variant(agents, *_PAPERS) for agents in _PRINTED]


def variants(
    agents: Iterable[int], groupings: Sequence[tuple[str, str]] = _GROUPINGS
) -> list[Variant]:
    """Return one agent, some groupings of each number of agents, and one agent per parameter."""
    return [ONE, *(Variant(each, *how) for each in agents for how in groupings), ALL]


def _runs(scale: Scale) -> Iterator[Run]:
    mappers = [variant.mapper for variant in variants(scale.agents)]
    problems = scale.figure_layers, scale.objectives
    return searches(*problems, mappers, scale.seeds, scale.samples, scale.hardware)


def _numbers(found: FilledFolder) -> Lines:
    return _compared(found, ((each, ALL) for each in variants(found.scale.agents)))


def _duels(found: FilledFolder) -> Lines:
    """Yield what groups cost in multiples of random ones."""
    several = (each for each in variants(found.scale.agents) if each.grouping not in ("", "random"))
    return _compared(found, ((each, Variant(each.agents, "random")) for each in several))


def _compared(found: FilledFolder, pairs: Iterable[tuple[Variant, Variant]]) -> Lines:
    """Yield what variants cost in multiples of others, on all hardware and on each."""
    compared = (
        (
            (hardware, *each),
            [arena for arena in found.arenas if hardware in (_EVERY, arena.hardware)],
            *(each.mapper, base.mapper),
        )
        for (each, base), hardware in product(pairs, (_EVERY, *found.scale.hardware))
    )
    return ratio_lines(("hardware", *Variant._fields), compared, found.scale.checkpoints)


def _rivals(found: FilledFolder) -> Lines:
    """Yield what each number of agents costs in multiples of one and of the paper's best."""
    one, *numbers = paper = variants(found.scale.agents, [_PAPERS])
    compared = (
        ((base.agents, *each), found.arenas, each.mapper, base.mapper)
        for base, each in product([one, *_BEST], numbers)
        if base != each and base in paper
    )
    return ratio_lines(("to", *Variant._fields), compared, found.scale.checkpoints)


def _valid(found: FilledFolder) -> Lines:
    """Yield how many of such random mappings as groups are learnt from are valid."""
    yield ("layer", "hardware", "valid", "of")
    scale = found.scale
    for layer, hardware in product(scale.figure_layers, scale.hardware):
        problem = goal(Run(layer, scale.objectives[0], ALL.mapper, 0, 1, hardware)).problem
        points = problem.space.sample(_WARM_UP, np.random.default_rng(0))
        valid = np.count_nonzero(problem.evaluate(points).status == OK)
        yield [layer, hardware, valid, _WARM_UP]


def _curves(found: FilledFolder) -> Lines:
    """Yield the mean return in some windows, and its interval."""
    yield (*Variant._fields, "samples", "share", "low", "high")
    for variant in variants(found.scale.agents, [_PAPERS]):
        if there := [arena for arena in found.arenas if arena.has(variant.mapper)]:
            ends = there[0].windows(variant.mapper)[0].ends
            kept = log_spaced(len(ends))
            shares = mean_share(there, variant.mapper, kept)
            for end, *figures in zip(ends[kept], *shares, strict=True):
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


def _view(folder: Folder) -> dict[str, Any]:
    costs = folder.rows("numbers.csv", hardware=_EVERY)
    duels = [row for row in folder.rows("duels.csv") if row["hardware"] != _EVERY]
    by_pearson = select(duels, grouping="clustered", measure=PEARSON)
    to_random = list(map(Ratio.of, by_pearson))
    pearson = [each.better for each in to_random]
    rivalry = folder.rows("rivals.csv")
    to_one = list(map(Ratio.of, select(rivalry, to="1")))
    one = [each.better for each in to_one]
    best = [optimal(_beats(rivalry, samples)) for (samples,) in grouped(costs, "samples")]
    ends = {Variant.of(row): Ratio.of(row) for row in costs}
    few = [ratio for variant, ratio in ends.items() if variant in _BEST]
    return {
        "costs": pivot("agents", costs, ("samples",), Ratio.of, Variant.of),
        "problems": max((int(row["problems"]) for row in costs), default=0),
        "duels": [
            (*groups, list(map(Ratio.of, rows)))
            for groups, rows in grouped(duels, "hardware", "grouping", "measure").items()
        ],
        "valid": folder.rows("valid.csv"),
        "one": tally(one),
        "alike": {"one": no_difference(to_one), "pearson": no_difference(to_random)},
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


Beats = Mapping[tuple[int, int], bool | None]
"""Whether a number of agents costs less than another for certain, by the other and it."""


def _beats(rivalry: CsvRows, samples: str) -> Beats:
    """Return what rows tell after some samples; what they leave out is open."""
    there = {_pair(row): Ratio.of(row).better for row in select(rivalry, samples=samples)}
    return dict.fromkeys(map(_pair, rivalry)) | there


def _pair(row: CsvRow) -> tuple[int, int]:
    return int(row["to"]), int(row["agents"])


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


def _draw(folder: Folder) -> None:
    rows = folder.rows("numbers.csv", hardware=_EVERY)
    draw_costs([(Variant.of(row), Ratio.of(row)) for row in rows], folder.images / "fig6.png")
    _draw_shares(folder.rows("curves.csv"), folder.images / "fig6-returns.png")


def draw_costs(costs: Sequence[tuple[Variant, Ratio]], path: Path) -> None:
    """Draw costs against the number of agents, a line a grouping."""
    # Every second number of samples: few panels are large enough to read.
    shown = sorted({ratio.samples for _, ratio in costs})[::2]
    agents = sorted({variant.number for variant, _ in costs})
    groupings = unique(variant.told for variant, _ in costs if variant.grouping)
    shifts = np.linspace(-_WIDTH / 2, _WIDTH / 2, len(groupings))
    looks = [*zip(groupings, shifts, results.COLOURS, ("o-", "s-", "D-", "^-"), strict=False)]
    figure, panels = results.make_panels((13, 4.6), len(shown))
    for axes, samples in zip(panels, shown, strict=False):
        axes.axhline(1, color=GREY, linewidth=1)
        for label, shift, colour, fmt in (*looks, ("no grouping", 0, "black", "*")):
            line = {
                agents.index(variant.number) + shift: ratio
                for variant, ratio in costs
                if (variant.told, ratio.samples) == (label, samples)
            }
            figures = [(each.ratio, each.low, each.high) for each in line.values()]
            ratio, low, high = np.array(figures, dtype=np.float64).reshape(-1, 3).T
            # A percentile interval may be beside its figure.
            bars = np.maximum([ratio - low, high - ratio], 0)
            style: dict[str, Any] = {"label": label, "color": colour, "fmt": fmt, "linewidth": 0.7}
            axes.errorbar([*line], ratio, bars, elinewidth=1.3, markersize=4.5, **style)
        axes.set_xticks(range(len(agents)), map(str, agents))
        ylabel = f"cost, multiples of that of {PARAMETERS} agents"
        results.finish(axes, f"after {samples:,} samples", xlabel="agents", ylabel=ylabel)
    results.save_panels(figure, path)


def _draw_shares(rows: CsvRows, path: Path) -> None:
    """Draw the mean return against samples by number of agents, a panel each with one agent."""
    curves = {Variant.of(here[0]).number: here for here in grouped(rows, "agents").values()}
    one = curves.pop(1, ())
    figure, panels = results.make_panels((13, 7), len(curves), sharey=True)
    looks = (GREY, "one agent"), (results.COLOURS[0], "as many agents as the panel's title says")
    for axes, (agents, curve) in zip(panels, curves.items(), strict=False):
        for here, look in zip((one, curve), looks, strict=True):
            band = results.columns_of(here, "samples", "share", "low", "high")
            results.draw_band(axes, band, *look, alpha=0.25)
        settings = {**results.SAMPLES, "ylabel": "mean return, share of best"}
        results.finish(axes, f"{agents} agents", **settings)
    results.save_panels(figure, path)


ITEM = Item(
    "fig6",
    runs=_runs,
    files={
        "numbers.csv": _numbers,
        "duels.csv": _duels,
        "rivals.csv": _rivals,
        "valid.csv": _valid,
        "curves.csv": _curves,
    },
    view=_view,
    draw=_draw,
)
