"""Fig. 4: which parameters depend on each other, and the tree that groups them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from clustering import AGENTS, Clustering, Dependence, cluster
from clustering.cut import cut_at, cut_to_agents
from clustering.grouping import agglomerate
from clustering.stability import stability
from experiments.cluster.plots import draw_clustering
from experiments.paper.frame import Item, Places, Scale
from experiments.paper.ledger import Finished, Run, samples_of
from experiments.paper.rows import Row, Rows

_PAIRS, _GROUPINGS = "pairs.csv", "groupings.csv"
_RUN = Run("mobilenetv2_l2", "latency", "random", seed=0, samples=0)
_SCHEMAS = ("paper10", "legal13")
_MEASURES = ("pearson", "cramers_v")
_KEYS = ("schema", "measure")
# The paper's: pairs up to LOW correlate little; its tree's thresholds for each parameter alone and
# for all of them together.
_LOW, _ALONE, _TOGETHER = 0.2, 0.5, 2.5
# Pairs in this share of all, ordered by |r|, are among the strongest.
_TOP = 0.1
_FILTERS_AND_CHANNELS = {"l2_tile_K", "l2_tile_C"}

Pair = tuple[str, str, float]


class Fig4(Item):
    """Dependence among the best of random samples; it needs no other search."""

    name = "fig4"

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        pairs: list[Sequence[object]] = []
        groupings: list[Sequence[object]] = []
        for schema, measure in product(_SCHEMAS, _MEASURES):
            run = replace(_RUN, samples=scale.samples, schema=schema)
            samples = samples_of(run, places.work)
            made = cluster(samples, measure=measure)
            pairs += [(schema, measure, *pair) for pair in pairs_of(made.dependence)]
            rng = np.random.default_rng(0)
            agreement = stability(samples, rng, partial(cluster, measure=measure))
            names = " ".join(samples.names), " ".join(made.tree.leaves)
            agreements = (round(each, 3) for each in (agreement.with_whole, agreement.of_halves))
            groupings.append((schema, measure, len(samples), *names, *agreements))
        columns = ("first", "second", "dependence")
        self.put(places, _PAIRS, (*_KEYS, *columns), pairs)
        facts = ("samples", "parameters", "varying", "with_whole", "of_halves")
        self.put(places, _GROUPINGS, (*_KEYS, *facts), groupings)

    def view(self, results: Path) -> dict[str, Any]:
        made = dict(self._clusterings(results))
        ours = {schema: made[schema, "pearson"] for schema in _SCHEMAS}
        place, pairs = rank(ours["paper10"], _FILTERS_AND_CHANNELS)
        correlation = _filters_with_channels(ours["paper10"])
        groupings = self.rows(results, _GROUPINGS)
        merges = {schema: heights(each) for schema, each in ours.items()}
        return {
            "rows": [_line(row, made[row["schema"], row["measure"]]) for row in groupings],
            "samples": int(groupings[0]["samples"]),
            "agents": AGENTS,
            "low": {schema: f"{low_share(each):.0%}" for schema, each in ours.items()},
            "merges": {name: "{:.2f} to {:.2f}".format(*found) for name, found in merges.items()},
            "correlation": f"{correlation:.2f}",
            "place": place,
            "pairs": pairs,
            "pictures": [f"{schema}-{measure}" for schema, measure in made],
            "verdicts": {
                "low": all(low_share(each) > 0.5 for each in ours.values()),
                "strong": place <= _TOP * pairs or abs(correlation) > _LOW,
                "thresholds": all(
                    first > _ALONE and last <= _TOGETHER for first, last in merges.values()
                ),
            },
        }

    def draw(self, places: Places) -> None:
        for (schema, measure), clustering in self._clusterings(places.results):
            title = f"{_RUN.layer}, {_RUN.objective}, schema {schema}"
            draw_clustering(clustering, places.images / f"fig4-{schema}-{measure}.png", title)

    def _clusterings(self, results: Path) -> Iterator[tuple[tuple[str, str], Clustering]]:
        pairs = self.rows(results, _PAIRS)
        for row in self.rows(results, _GROUPINGS):
            own = [pair for pair in pairs if all(pair[key] == row[key] for key in _KEYS)]
            yield (row["schema"], row["measure"]), clustering_of(row, own)


def pairs_of(dependence: Dependence) -> list[Pair]:
    """Return the pairs of parameters that vary and their dependence."""
    varying = np.flatnonzero(dependence.varying)
    return [
        (dependence.names[i], dependence.names[j], float(dependence.matrix[i, j]))
        for i, j in combinations(varying, 2)
    ]


def clustering_of(row: Row, pairs: Rows) -> Clustering:
    """Return the clustering that result files hold."""
    names, varying = tuple(row["parameters"].split()), set(row["varying"].split())
    matrix = np.eye(len(names))
    for pair in pairs:
        i, j = names.index(pair["first"]), names.index(pair["second"])
        matrix[i, j] = matrix[j, i] = float(pair["dependence"])
    varies = np.array([name in varying for name in names])
    dependence = Dependence(names, matrix, varies, row["measure"])
    tree = agglomerate(dependence)
    groups = cut_to_agents(tree, names, min(AGENTS, len(names)))
    return Clustering(groups, dependence, tree)


def _line(row: Row, clustering: Clustering) -> list[str]:
    strongest = max(pairs_of(clustering.dependence), key=lambda pair: abs(pair[2]))
    agents = [
        len(cut_at(clustering.tree, clustering.tree.leaves, at)) for at in (_ALONE, _TOGETHER)
    ]
    return [
        f"{row['schema']}, {row['measure']}",
        "{2:.2f} ({0}, {1})".format(*strongest),
        f"{low_share(clustering):.0%}",
        f"{_filters_with_channels(clustering):.2f}",
        "{:.2f} to {:.2f}".format(*heights(clustering)),
        "{} / {}".format(*agents),
        f"{float(row['with_whole']):.2f} / {float(row['of_halves']):.2f}",
    ]


def rank(clustering: Clustering, names: Set[str]) -> tuple[int, int]:
    """Return the place of a pair among all, the strongest first, and how many there are."""
    pairs = pairs_of(clustering.dependence)
    own = next(abs(pair[2]) for pair in pairs if set(pair[:2]) == names)
    return 1 + sum(abs(pair[2]) > own for pair in pairs), len(pairs)


def low_share(clustering: Clustering) -> float:
    """Return the share of pairs that the paper calls little correlated."""
    return float(np.mean([abs(pair[2]) <= _LOW for pair in pairs_of(clustering.dependence)]))


def heights(clustering: Clustering) -> tuple[float, float]:
    """Return the heights of the first and the last merge."""
    merges = clustering.tree.merges[:, 2]
    return float(merges[0]), float(merges[-1])


def _filters_with_channels(clustering: Clustering) -> float:
    found = (p for p in pairs_of(clustering.dependence) if set(p[:2]) == _FILTERS_AND_CHANNELS)
    return next(found)[2]
