"""Table II: how large the search spaces of layer types are, by Equation 1 and counted exactly."""

from __future__ import annotations

import math
from typing import Any

from maestro_env.accelerators.finding import find_hardware
from maestro_env.experiments.papers.paper.items import FilledFolder, Folder, Item, Lines
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import find_layer

# One dimension of a level is parallel, as in the paper's Fig. 2.
_PARALLEL = 1
_PRINTED = {"MLP": (4, 13), "Transformer": (8, 26), "CNN": (13, 39)}
"""Powers of ten that the search spaces are said to have, least and most."""
_LAYERS = {
    "MLP": ("alexnet_l6", "vgg16_l14"),
    "Transformer": ("bert_base_l0", "bert_base_l1", "bert_base_l4", "gpt2_l4"),
    "CNN": ("mobilenetv2_l2", "mobilenetv2_l3", "resnet50_l2", "vgg16_l2"),
}
_EQUATION = {levels: f"equation_1_levels_{levels}" for levels in (1, 2, 3)}
_SIZES = (*_EQUATION.values(), *SCHEMAS)


def _spaces(_: FilledFolder) -> Lines:
    yield ("kind", "layer", "dimensions", "n", "d", *_SIZES)
    hardware = find_hardware("paper")
    for kind, layers in _LAYERS.items():
        for layer in map(find_layer, layers):
            spaces = [MapSpace(layer, hardware, schema) for schema in SCHEMAS]
            extents = spaces[0].extents.values()
            n, d = typical_extent(math.prod(extents), len(extents)), len(extents)
            sizes = [equation_1(n, d, _PARALLEL, levels) for levels in _EQUATION]
            counts = [space.size() for space in spaces]
            yield [kind, layer.name, layer.dimensions, n, d, *sizes, *counts]


def typical_extent(volume: int, d: int) -> int:
    """Return the extent of a cube of ``d`` dimensions and about this volume.

    Equation 1 has one number of tile sizes for all dimensions; a layer's differ.
    """
    return round(math.pow(volume, 1 / d))


def _view(folder: Folder) -> dict[str, Any]:
    rows = [
        (row, _PRINTED[row["kind"]], {name: math.log10(int(row[name])) for name in _SIZES})
        for row in folder.rows("spaces.csv")
    ]
    inside = {
        levels: sum(least <= powers[name] <= most for _, (least, most), powers in rows)
        for levels, name in _EQUATION.items()
    }
    largest = dict.fromkeys(_PRINTED, 0.0)
    for row, _, powers in rows:
        largest[row["kind"]] = max(largest[row["kind"]], powers["legal13"])
    return {
        "rows": rows,
        "largest": largest,
        "inside": inside,
        "verdicts": {
            "largest": largest["CNN"] > max(largest["MLP"], largest["Transformer"]),
            "equation": len(rows) in inside.values(),
        },
    }


ITEM = Item("table2", files={"spaces.csv": _spaces}, view=_view)


def equation_1(n: int, d: int, k: int, levels: int) -> int:
    """Size of a map space by equation 1 of arXiv:2507.16249: (n^d x d! x d!/(d-k)!)^levels.

    Args:
        n: tile sizes per dimension.
        d: dimensions.
        k: levels of parallelism.
        levels: memory levels.
    """
    return int((n**d * math.factorial(d) * math.perm(d, k)) ** levels)
