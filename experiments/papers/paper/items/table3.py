"""Table III: MARL against the other mappers on the reporting layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from maestro_env.evaluation.models import MODELS
from maestro_env.experiments.papers.paper.items import FilledFolder, Folder, Item, Lines, Scale
from maestro_env.experiments.papers.paper.ledger import ARENA_COLUMNS, WARMED, Arena, Run
from maestro_env.experiments.papers.paper.ratios import (
    RATIO_COLUMNS,
    Ratio,
    cost_ratios,
    group_lines,
    group_tables,
    number,
)
from maestro_env.experiments.papers.paper.reach import at_least, everywhere, interval
from maestro_env.experiments.papers.paper.results import (
    CsvRow,
    CsvRows,
    grouped,
    pivot,
    read_rows,
    select,
)
from maestro_env.experiments.shown.statistics import Floats, bootstrap_interval, iqm

MARL = "marl"
OWN = "marl_paper"
"""The paper's own agents, without what this project added to them; and their item."""
_PAPERS = ("random", "bo", "ga", "gamma", "ppo")
"""The paper's other mappers."""
_CONTROLS = ("random_log", "ga_log", "pbil", "marl:agents=1")
"""They tell where a lead of MARL comes from."""
MAPPERS = (
    *_PAPERS,
    *_CONTROLS,
    "ppo_box",
    "ppo_tuned",
    "marl_clustered:agents=6:grouping=random",
    "marl_mlp",
    MARL,
    "marl_clustered",
)
"""In the order of the tables."""
_COSTLY = ("bo", "marl_mlp")
_SINGLE_AGENTS = ("ppo", "ppo_box")

_VALUES = {
    ("mobilenetv2", "latency"): (6.56e-05, 2.00e-04, 1.31e-04, 8.73e-05, 7.55e-05, 6.22e-04),
    ("mobilenetv2", "edp"): (1.00e-05, 1.00e-04, 3.33e-05, 2.50e-05, 1.54e-05, 1.95e-04),
    ("vgg16", "latency"): (7.25e-03, 2.94e-02, 1.08e-02, 9.26e-03, 8.26e-03, 2.36e-01),
    ("vgg16", "edp"): (1.22e-03, 7.87e-03, 2.01e-03, 1.49e-03, 1.41e-03, 2.00e-02),
}
"""What the paper prints for MARL and the other mappers, in units that it does not give, by network
(the first part of its layers' names) and objective."""
_RATIOS = {
    ("mobilenetv2", "latency"): (3.05, 1.99, 1.33, 1.15, 9.48),
    ("mobilenetv2", "edp"): (10.00, 3.33, 2.50, 0.15, 1.95),
    ("vgg16", "latency"): (4.06, 1.48, 1.28, 1.14, 32.61),
    ("vgg16", "edp"): (6.48, 1.65, 1.22, 1.16, 16.45),
}
"""The ratios to MARL's that are printed beside."""
PRINTED = {
    key: {
        mapper: (ratio, value / marl)
        for mapper, ratio, value in zip(_PAPERS, _RATIOS[key], values, strict=True)
    }
    for key, (marl, *values) in _VALUES.items()
}
"""By network and objective: each mapper's ratio as printed, and as the printed values have it."""

_MISPRINT = 0.01
_LEVEL = 0.01
_FEWER = 30
_RESNET18_TWIN = dict(zip(ARENA_COLUMNS, ("exact", "paper", "resnet50_l2", "latency"), strict=True))
"""The reporting cell with the shape of resnet18_l2."""
_RESNET18_LOWER = 1.5


def _runs(scale: Scale) -> Iterator[Run]:
    ways = [("exact", each, scale.seeds, scale.few_seeds) for each in scale.hardware]
    ways.append(("maestro", "paper", scale.few_seeds, 0))
    for way, layer, objective, mapper in product(ways, scale.layers, scale.objectives, MAPPERS):
        model, hardware, seeds, few = way
        for seed in range(few if mapper in _COSTLY else seeds):
            yield Run(layer, objective, mapper, seed, scale.samples, hardware, model)


def shared_files(
    mappers: Sequence[str], against: Mapping[str, Sequence[str]]
) -> dict[str, Callable[[FilledFolder], Lines]]:
    """Return the files that the paper's own agents have too.

    Args:
        mappers: whose costs are told, in each cell and in multiples of MARL's.
        against: mappers that MARL leads or not, by what they are called together.
    """
    return {
        "cells.csv": partial(_cells, mappers=mappers),
        "networks.csv": partial(_networks, mappers=mappers),
        "ratios.csv": lambda found: group_lines(
            found.arenas, mappers, MARL, found.scale.checkpoints
        ),
        "leads.csv": partial(_leads, against=against),
    }


def _cells(found: FilledFolder, mappers: Sequence[str]) -> Lines:
    checkpoints = found.scale.checkpoints
    yield (*ARENA_COLUMNS, "mapper", "seeds", *iqm_columns("iqm", checkpoints))
    for arena, mapper in product(found.arenas, mappers):
        if arena.has(mapper):
            bests = arena.bests(mapper, np.array(checkpoints))
            yield [*arena.keys, mapper, len(bests), *iqm_figures(bests)]


def iqm_columns(figure: str, checkpoints: Iterable[int]) -> list[str]:
    """Return the columns of what ``iqm_figures`` returns."""
    return [f"{kind}_{each}" for each in checkpoints for kind in (figure, "low", "high")]


def iqm_figures(found: Floats) -> list[str]:
    """Return the interquartile mean of float64[S, C] and its interval's ends, C times."""
    return [*map(number, np.stack([iqm(found), *bootstrap_interval(found)], axis=1).ravel())]


def _networks(found: FilledFolder, mappers: Sequence[str]) -> Lines:
    """Yield final ratios on the paper's networks, and on each layer of them."""
    yield (
        *("model", "network", "objective", "mapper", "layer", "of"),
        *(*RATIO_COLUMNS, "printed", "recomputed"),
    )
    paper = [arena for arena in found.arenas if arena.hardware == "paper"]
    models = dict.fromkeys(arena.model for arena in paper)
    for model, ((network, objective), printed) in product(models, PRINTED.items()):
        here = [
            arena
            for arena in paper
            if (arena.model, arena.objective) == (model, objective)
            and arena.layer.startswith(f"{network}_")
        ]
        parts = {"": here, **{arena.layer: [arena] for arena in here}}
        for mapper, (layer, part) in product(mappers, parts.items()):
            if part and mapper not in (MARL, WARMED):
                (ratio,) = cost_ratios(part, mapper, MARL, [part[0].samples])
                figures = ratio.problems, *ratio.row(number)
                shown, recomputed = printed.get(mapper, ("", math.nan))
                yield model, network, objective, mapper, layer, *figures, shown, number(recomputed)


def _leads(found: FilledFolder, against: Mapping[str, Sequence[str]]) -> Lines:
    """Yield in how many cells MARL leads others, of those that all have searched."""
    yield ("against", "samples", "yes", "counted", "cells")
    scale, arenas = found.scale, _exact(found)
    cells = len(scale.hardware) * len(scale.layers) * len(scale.objectives)
    for (name, others), samples in product(against.items(), scale.checkpoints):
        judged = [leads(arena, others, samples) for arena in arenas if arena.has(MARL, *others)]
        yield name, samples, sum(judged), len(judged), cells


def _exact(found: FilledFolder) -> list[Arena]:
    return [arena for arena in found.arenas if "proof" in MODELS[arena.model].abilities]


def leads(arena: Arena, others: Sequence[str], samples: int) -> bool:
    """Say whether MARL is best, or within the interval of the best, of it and some others.

    That is if its interquartile mean is at most the upper end of the 95 % bootstrap interval of
    the best other's. Where that end is infinite it bounds nothing, and the other's mean counts.
    """
    best = min((arena.bests_after(other, samples) for other in others), key=iqm)
    own, end = iqm(arena.bests_after(MARL, samples)), bootstrap_interval(best)[1]
    return bool(np.isfinite(own) and own <= (end if np.isfinite(end) else iqm(best)))


def _fewer(found: FilledFolder) -> Lines:
    yield (*ARENA_COLUMNS, "single_agent", "times", "found_after")
    for arena, slow in product(_exact(found), _SINGLE_AGENTS):
        if arena.has(MARL, slow):
            searches = arena.searches[slow]
            lasts = [each.at[-1] if len(each.at) else arena.samples for each in searches]
            figures = map(number, (times_fewer(arena, MARL, slow), float(np.median(lasts))))
            yield [*arena.keys, slow, *figures]


def times_fewer(arena: Arena, mapper: str, slow: str) -> float:
    """Return how many times fewer samples a mapper needs to another's median best at its end.

    NaN where that is infinite; 0 where the mapper's median search never gets there.
    """
    target = arena.median_best(slow, arena.samples)
    if np.isinf(target):
        return np.nan
    return arena.samples / arena.samples_to(mapper, target).median


def _view(folder: Folder) -> dict[str, Any]:
    # Files that the item of the paper's own agents has too.
    shared = ("networks", "ratios", "leads", "cells")
    networks, ratios, leads, cells = (_with_own_agents(folder, name) for name in shared)
    fewer = folder.rows("fewer.csv")
    label = labels(cells)
    whole = select(networks, model="exact", layer="")
    printed = [row for row in whole if row["printed"]]
    sums = [(row, Ratio.of(row)) for row in printed if row["ratio"]]
    ahead = [ratio.worse for _, ratio in sums]
    margins = [at_least(each.low, each.high, float(row["recomputed"])) for row, each in sums]
    judged = [row for row in select(ratios, group="exact") if row["mapper"] in _PAPERS]
    soon = [Ratio.of(row).worse for row in judged if row["of"] != "0"]
    own, resnet18, everyone = _own_agents(ratios), _resnet18(cells, fewer), everywhere(soon)
    slow = select(fewer, single_agent="ppo")
    times = _times(slow)
    median = interval([np.array(times)], lambda drawn: np.median(drawn[0], axis=0))
    return {
        "networks": pivot("mapper", whole, ("network", "objective"), _beside_printed, label),
        "ratios": group_tables(ratios, Ratio.of, label),
        "leads": pivot("against", leads, ("samples",), "{0[yes]} of {0[counted]}".format, label),
        "seeds": most_seeds(cells),
        "misprints": [
            row
            for row in printed
            if abs(float(row["printed"]) / float(row["recomputed"]) - 1) > _MISPRINT
        ],
        "sums": len(sums),
        "ahead": ahead.count(True),
        "not_ahead": sorted({row["mapper"] for row, ratio in sums if not ratio.worse}),
        "level": sum(abs(math.log(each.ratio)) <= _LEVEL for _, each in sums),
        "reached": margins.count(True),
        "largest": max((each.ratio for _, each in sums), default=None),
        "soon": (soon.count(True), len(soon)),
        "own": own,
        # How many times fewer samples MARL needs than single agents, by cell.
        "fewer": {
            "ppo": times,
            "box": _times(select(fewer, single_agent="ppo_box")),
            "hardware": {name: _times(rows) for (name,), rows in grouped(slow, "hardware").items()},
            "interval": median,
            "of": len(slow),
        },
        "resnet18": resnet18,
        "verdicts": {
            "ahead": everywhere(ahead),
            "margins": everywhere(margins),
            # Our MARL may beat the other mappers where the paper's own agents do not.
            "budgets": f"`{MARL}` only" if everyone and own[1] else everyone,
            "fewer": at_least(*median, _FEWER),
            "resnet18": resnet18["verdict"] if resnet18 else None,
        },
    }


def _with_own_agents(folder: Folder, name: str) -> CsvRows:
    """Return the rows of a file, and those of the paper's own agents if they were searched."""
    path = folder.results / OWN / f"{name}.csv"
    beside = read_rows(path) if path.exists() else []
    own = [row for row in beside if OWN in (row.get("mapper"), row.get("against"))]
    return [*folder.rows(f"{name}.csv"), *own]


def most_seeds(cells: CsvRows) -> int:
    """Return how many seeds the mappers with most of them have."""
    return max((int(row["seeds"]) for row in cells), default=0)


def labels(cells: CsvRows) -> Callable[[CsvRow], str]:
    """Return what names a row: its mapper, and its seeds if it has fewer than the most."""
    most = most_seeds(cells)
    seeds = {
        key: sorted(int(row["seeds"]) for row in rows)
        for key, rows in grouped(cells, "model", "mapper").items()
    }

    def label(row: CsvRow) -> str:
        mapper = row.get("mapper") or row["against"]
        found = seeds.get((row.get("group", "exact").partition(",")[0], mapper), [most])
        if found[0] == most:
            return mapper
        told = " to ".join(map(str, dict.fromkeys((found[0], found[-1]))))
        return f"{mapper} ({told} seed{'s' if found[-1] > 1 else ''})"

    return label


def _beside_printed(row: CsvRow) -> str:
    paper = f" (paper: {float(row['recomputed']):.2f})" if row["recomputed"] else ""
    return f"{Ratio.of(row)}{paper}"


def _own_agents(ratios: CsvRows) -> tuple[int, int, int]:
    """Compare the paper's own agents with its other mappers by their costs relative to MARL's.

    Returns:
        Numbers of comparisons in which they cost less, more, and of all, on ``paper`` hardware,
        where every mapper finds valid mappings. Two differ if their intervals do not overlap.
    """
    there = [row for row in select(ratios, group="exact, paper") if row["ratio"]]
    own = {row["samples"]: Ratio.of(row) for row in select(there, mapper=OWN)}
    rivals = [row for row in there if row["mapper"] in _PAPERS and row["samples"] in own]
    pairs = [(own[row["samples"]], Ratio.of(row)) for row in rivals]
    better = sum(ours.high < rival.low for ours, rival in pairs)
    return better, sum(rival.high < ours.low for ours, rival in pairs), len(pairs)


def _times(fewer: CsvRows) -> list[float]:
    return [float(row["times"]) for row in fewer if row["times"]]


def _resnet18(cells: CsvRows, fewer: CsvRows) -> dict[str, Any] | None:
    """Return the figures of the layer with the shape of resnet18_l2, against ``ppo``.

    The interval of the ratio is that of the ends of both interquartile means' intervals.
    """
    found = {row["mapper"]: row for row in select(cells, **_RESNET18_TWIN)}
    times = select(fewer, single_agent="ppo", **_RESNET18_TWIN)
    if not times or not {MARL, "ppo"} <= found.keys():
        return None
    columns = [name for name in cells[0] if name.startswith(("iqm_", "low_", "high_"))][-3:]
    slow, fast = ([float(found[who][name]) for name in columns] for who in ("ppo", MARL))
    return {
        "fewer": float(times[0]["times"]),
        "lower": slow[0] / fast[0],
        "verdict": at_least(slow[1] / fast[2], slow[2] / fast[1], _RESNET18_LOWER),
    }


_AGAINST = {"the paper's": _PAPERS, "the controls": _CONTROLS}
_AGAINST |= {mapper: (mapper,) for mapper in MAPPERS if mapper != MARL}

ITEM = Item(
    "table3",
    runs=_runs,
    files=shared_files((*MAPPERS, WARMED), _AGAINST) | {"fewer.csv": _fewer},
    view=_view,
)
