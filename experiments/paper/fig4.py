"""Fig. 4: which parameters depend on each other, and the tree that groups them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from clustering import AGENTS, Clustering, Dependence, Samples, cluster
from clustering.cut import cut_at, cut_to_agents
from clustering.grouping import agglomerate
from clustering.stability import stability
from experiments.cells import Finished
from experiments.cluster.plots import draw_clustering
from experiments.csv_files import write_csv
from experiments.datasets import collect
from experiments.paper.item import Claim, Item, Places, Run, Scale, Section
from experiments.paper.rows import read_rows
from experiments.paper.searches import goal
from experiments.sheets import Sheet

_PAIRS, _GROUPINGS = "pairs.csv", "groupings.csv"
_RUN = Run("mobilenetv2_l2", "latency", "random", seed=0, samples=0)
_SCHEMAS = ("paper10", "legal13")
_MEASURES = ("pearson", "cramers_v")
_KEYS = ("schema", "measure")
# The paper's: pairs up to LOW correlate little; its tree's threshold for each parameter alone, and
# for all of them together.
_LOW, _ALONE, _TOGETHER = 0.2, 0.5, 2.5
# Pairs in this share of all, ordered by |r|, are among the strongest.
_TOP = 0.1
_FILTERS_AND_CHANNELS = {"l2_tile_K", "l2_tile_C"}

Pair = tuple[str, str, float]


class Fig4(Item):
    """Dependence among the best of random samples; it needs no other search."""

    name = "fig4"
    title = "Fig. 4: correlation matrix and dendrogram"

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        pairs: list[Sequence[object]] = []
        groupings: list[Sequence[object]] = []
        for schema in _SCHEMAS:
            run = replace(_RUN, samples=scale.samples, schema=schema)
            collected = collect(goal(run), run.mapper, run.samples, run.seed, places.work)
            for measure in _MEASURES:
                made = cluster(collected.samples, measure=measure)
                pairs += [(schema, measure, *pair) for pair in pairs_of(made.dependence)]
                agreement = stability(
                    collected.samples, np.random.default_rng(0), partial(cluster, measure=measure)
                )
                groupings.append(
                    (
                        *(schema, measure, len(collected.samples), _names(collected.samples)),
                        " ".join(made.tree.leaves),
                        *(round(each, 3) for each in (agreement.with_whole, agreement.of_halves)),
                    )
                )
        write_csv(places.results / _PAIRS, (*_KEYS, "first", "second", "dependence"), pairs)
        header = (*_KEYS, "samples", "parameters", "varying", "with_whole", "of_halves")
        write_csv(places.results / _GROUPINGS, header, groupings)

    def section(self, places: Places) -> Section:
        groupings = read_rows(places.results / _GROUPINGS)
        pairs = read_rows(places.results / _PAIRS)
        made = {
            (row["schema"], row["measure"]): clustering_of(
                row, [pair for pair in pairs if all(pair[key] == row[key] for key in _KEYS)]
            )
            for row in groupings
        }
        pictures = []
        for (schema, measure), clustering in made.items():
            name = f"fig4-{schema}-{measure}.png"
            title = f"{_RUN.layer}, {_RUN.objective}, schema {schema}"
            draw_clustering(clustering, places.images / name, title)
            pictures.append(f"![{title}, {measure}]({places.link}/{name})")
        sheet = _sheet(groupings, list(made.values()))
        body = "\n\n".join((sheet.markdown(level=3), *pictures))
        return Section(list(_claims(made)), body)


def pairs_of(dependence: Dependence) -> list[Pair]:
    """Return the pairs of parameters that vary and their dependence."""
    varying = np.flatnonzero(dependence.varying)
    return [
        (dependence.names[i], dependence.names[j], float(dependence.matrix[i, j]))
        for i, j in combinations(varying, 2)
    ]


def clustering_of(row: Mapping[str, str], pairs: Sequence[Mapping[str, str]]) -> Clustering:
    """Return the clustering that result files hold."""
    names, varying = tuple(row["parameters"].split()), set(row["varying"].split())
    matrix = np.eye(len(names))
    for pair in pairs:
        i, j = names.index(pair["first"]), names.index(pair["second"])
        matrix[i, j] = matrix[j, i] = float(pair["dependence"])
    dependence = Dependence(
        names, matrix, np.array([name in varying for name in names]), row["measure"]
    )
    tree = agglomerate(dependence)
    groups = cut_to_agents(tree, names, min(AGENTS, len(names)))
    return Clustering(groups, dependence, tree)


def _names(samples: Samples) -> str:
    return " ".join(samples.names)


def _sheet(rows: Sequence[Mapping[str, str]], made: Sequence[Clustering]) -> Sheet:
    headers = (
        "largest",
        f"pairs within {_LOW}",
        "K with C",
        "merges",
        f"agents at {_ALONE} / {_TOGETHER}",
        "stability",
    )
    table = [
        [
            f"{row['schema']}, {row['measure']}",
            "{2:.2f} ({0}, {1})".format(*strongest(clustering)),
            f"{low_share(clustering):.0%}",
            f"{_filters_with_channels(clustering):.2f}",
            "{:.2f} to {:.2f}".format(*heights(clustering)),
            f"{agents_at(clustering, _ALONE)} / {agents_at(clustering, _TOGETHER)}",
            f"{float(row['with_whole']):.2f} / {float(row['of_halves']):.2f}",
        ]
        for row, clustering in zip(rows, made, strict=True)
    ]
    samples = int(rows[0]["samples"])
    note = (
        f"`{_RUN.layer}`, least {_RUN.objective}, `{_RUN.hardware}` hardware, the best 15 % of "
        f"{samples:,} random samples. pearson: the paper's r; of a loop order's rank and of the "
        "number of a parallel dimension it means little, and cramers_v (corrected for bias) suits "
        "them. Merges: heights of the first and the last in the tree (Ward, distances between rows "
        f"of the matrix). Stability: adjusted Rand index of the groups for {AGENTS} agents from "
        "random halves of the samples, with those from all samples and with each other's; 0 is "
        "chance. Parameters with one choice are left out."
    )
    return Sheet("Dependence", note, "schema, measure", headers, table)


def strongest(clustering: Clustering) -> Pair:
    """Return the pair of strongest dependence."""
    return max(pairs_of(clustering.dependence), key=lambda pair: abs(pair[2]))


def rank(clustering: Clustering, names: Set[str]) -> tuple[int, int]:
    """Return the place of a pair among all of them, the strongest first, and how many there are."""
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


def agents_at(clustering: Clustering, threshold: float) -> int:
    """Return how many agents of parameters that vary a threshold leaves."""
    return len(cut_at(clustering.tree, clustering.tree.leaves, threshold))


def _filters_with_channels(clustering: Clustering) -> float:
    found = (p for p in pairs_of(clustering.dependence) if set(p[:2]) == _FILTERS_AND_CHANNELS)
    return next(found)[2]


def _claims(made: Mapping[tuple[str, str], Clustering]) -> Iterator[Claim]:
    ours = {schema: made[schema, "pearson"] for schema in _SCHEMAS}
    paper10 = ours["paper10"]
    first, second, largest = strongest(paper10)
    correlation = _filters_with_channels(paper10)
    place, pairs = rank(paper10, _FILTERS_AND_CHANNELS)
    yield Claim(
        f"most pairs of parameters correlate little, from 0 to {_LOW} (VI-D).",
        all(low_share(each) > 0.5 for each in ours.values()),
        _each(ours, lambda each: f"{low_share(each):.0%} of pairs")
        + "; among the best samples, which were chosen for being good, that is no evidence that "
        "parameters can be tuned independently.",
    )
    yield Claim(
        "filters K and channels C correlate strongly (Fig. 4a, VI-D).",
        place <= _TOP * pairs or abs(correlation) > _LOW,
        f"under paper10 their r is {correlation:.2f}, number {place} of {pairs} pairs by |r| "
        f"(among the first {_TOP:.0%}, or above {_LOW}, would be strong); the largest is "
        f"{largest:.2f}, of {first} and {second}.",
    )
    yield Claim(
        f"a threshold below {_ALONE} leaves every parameter alone, one above {_TOGETHER} joins all "
        "(IV-D).",
        all(heights(each)[0] > _ALONE and heights(each)[1] <= _TOGETHER for each in ours.values()),
        _each(ours, lambda each: "merges at {:.2f} to {:.2f}".format(*heights(each))) + ".",
    )


def _each(made: Mapping[str, Clustering], text: Callable[[Clustering], str]) -> str:
    return "; ".join(f"{schema}: {text(each)}" for schema, each in made.items())
