"""Fig. 4: which parameters depend on each other among the best of random samples, as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from maestro_env.clustering import AGENTS, Clustering, Dependence, Samples, cluster
from maestro_env.clustering.algorithm import stability
from maestro_env.clustering.groups import agglomerate, cut_at, cut_to_agents
from maestro_env.experiments.papers.paper.items import FilledFolder, Folder, Item, Lines
from maestro_env.experiments.papers.paper.ledger import Run, samples_of
from maestro_env.experiments.papers.paper.results import CsvRow, CsvRows
from maestro_env.experiments.shown.clustering import draw_clustering
from maestro_env.experiments.shown.plots import save

_RUN = Run("mobilenetv2_l2", "latency", "random", seed=0, samples=0)
_SCHEMAS = ("paper10", "legal13")
_MEASURES = ("pearson", "cramers_v")
# The paper's: pairs up to LOW correlate little; its tree's thresholds for each parameter alone and
# for all of them together.
_LOW, _ALONE, _TOGETHER = 0.2, 0.5, 2.5
# Pairs in this share of all, ordered by |r|, are among the strongest.
_TOP = 0.1
_FILTERS_AND_CHANNELS = {"l2_tile_K", "l2_tile_C"}


def _sampled(found: FilledFolder) -> Iterator[tuple[str, str, Samples]]:
    for schema, measure in product(_SCHEMAS, _MEASURES):
        run = replace(_RUN, samples=found.scale.samples, schema=schema)
        yield schema, measure, samples_of(run, found.work)


def _pairs(found: FilledFolder) -> Lines:
    yield ("schema", "measure", "first", "second", "dependence")
    for schema, measure, samples in _sampled(found):
        for pair in pairs_of(cluster(samples, measure=measure)):
            yield (schema, measure, *pair)


def _groupings(found: FilledFolder) -> Lines:
    keys = ("schema", "measure", "samples")
    yield (*keys, "parameters", "varying", "with_whole", "of_halves")
    for schema, measure, samples in _sampled(found):
        made = partial(cluster, measure=measure)
        agreement = stability(samples, np.random.default_rng(0), made)
        names = " ".join(samples.names), " ".join(made(samples).tree.leaves)
        agreements = (round(each, 3) for each in (agreement.with_whole, agreement.of_halves))
        yield (schema, measure, len(samples), *names, *agreements)


def _view(folder: Folder) -> dict[str, Any]:
    rows = [{**row, **facts(made)} for row, made in _clusterings(folder)]
    ours = [row for row in rows if row["measure"] == "pearson"]
    first = ours[0]
    return {
        "rows": rows,
        "ours": ours,
        "agents": AGENTS,
        "verdicts": {
            "low": all(row["low"] > 0.5 for row in ours),
            "strong": first["place"] <= _TOP * first["pairs"] or abs(first["r"]) > _LOW,
            "thresholds": all(
                row["merges"][0] > _ALONE and row["merges"][1] <= _TOGETHER for row in ours
            ),
        },
    }


def _draw(folder: Folder) -> None:
    for row, clustering in _clusterings(folder):
        title = f"{_RUN.layer}, {_RUN.objective}, schema {row['schema']}"
        name = f"fig4-{row['schema']}-{row['measure']}.png"
        save(draw_clustering(clustering, title), folder.images / name, svg=True)


def _clusterings(folder: Folder) -> Iterator[tuple[CsvRow, Clustering]]:
    for row in folder.rows("groupings.csv"):
        pairs = folder.rows("pairs.csv", schema=row["schema"], measure=row["measure"])
        yield row, clustering_of(row, pairs)


def pairs_of(clustering: Clustering) -> list[tuple[str, str, float]]:
    """Return the pairs of parameters that vary and their dependence."""
    names, matrix = clustering.dependence.names, clustering.dependence.matrix
    varying = np.flatnonzero(clustering.dependence.varying)
    return [(names[i], names[j], float(matrix[i, j])) for i, j in combinations(varying, 2)]


def clustering_of(row: CsvRow, pairs: CsvRows) -> Clustering:
    """Return the clustering that result files hold."""
    names, varying = tuple(row["parameters"].split()), set(row["varying"].split())
    matrix = np.eye(len(names))
    for pair in pairs:
        i, j = names.index(pair["first"]), names.index(pair["second"])
        matrix[i, j] = matrix[j, i] = float(pair["dependence"])
    varies = np.array([name in varying for name in names])
    dependence = Dependence(names, matrix, varies, row["measure"])
    tree = agglomerate(dependence)
    return Clustering(cut_to_agents(tree, names, min(AGENTS, len(names))), dependence, tree)


def facts(clustering: Clustering, names: Set[str] = _FILTERS_AND_CHANNELS) -> dict[str, Any]:
    """Return what the page tells of a clustering, and of a pair of parameters in it."""
    tree, pairs = clustering.tree, pairs_of(clustering)
    own = next(value for *pair, value in pairs if set(pair) == names)
    return {
        "strongest": max(pairs, key=lambda pair: abs(pair[2])),
        # The share of pairs that the paper calls little correlated.
        "low": float(np.mean([abs(value) <= _LOW for *_, value in pairs])),
        # The pair's place among all, the strongest first.
        "place": 1 + sum(abs(value) > abs(own) for *_, value in pairs),
        "pairs": len(pairs),
        "r": own,
        # Heights of the first and the last merge.
        "merges": tree.merges[[0, -1], 2].tolist(),
        "groups": [len(cut_at(tree, tree.leaves, at)) for at in (_ALONE, _TOGETHER)],
    }


ITEM = Item(
    "fig4",
    files={"pairs.csv": _pairs, "groupings.csv": _groupings},
    view=_view,
    draw=_draw,
)
