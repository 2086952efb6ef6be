"""Table II: how large the search spaces of layer types are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.cells import Finished
from experiments.csv_files import write_csv
from experiments.paper.item import Claim, Item, Places, Run, Scale, Section
from experiments.paper.rows import read_rows
from experiments.sheets import Sheet
from maestro_env.hardware import find_hardware
from maestro_env.map_space import SCHEMAS, MapSpace, equation_1
from maestro_env.workloads import find_layer

_FILE = "spaces.csv"
_HARDWARE = "paper"
_LEVELS = (1, 2, 3)
# One dimension of a level is parallel, as in the paper's Fig. 2.
_PARALLEL = 1


@dataclass(frozen=True)
class _Kind:
    """A row of the paper's table.

    Args:
        name: of the architecture.
        printed: powers of ten that its search spaces are said to have, least and most.
        layers: of the zoo that stand for it.
    """

    name: str
    printed: tuple[int, int]
    layers: tuple[str, ...]


_KINDS = (
    _Kind("MLP", (4, 13), ("alexnet_l6", "vgg16_l14")),
    _Kind("Transformer", (8, 26), ("bert_base_l0", "bert_base_l1", "bert_base_l4", "gpt2_l4")),
    _Kind("CNN", (13, 39), ("mobilenetv2_l2", "mobilenetv2_l3", "resnet50_l2", "vgg16_l2")),
)
_EQUATION = tuple(f"equation_1_levels_{levels}" for levels in _LEVELS)
_HEADER = ("kind", "layer", "dimensions", "n", "d", *_EQUATION, *SCHEMAS)


class Table2(Item):
    """Equation 1 and exact counts; it needs no search."""

    name = "table2"
    title = "Table II: search-space complexity of layer types"

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        write_csv(places.results / _FILE, _HEADER, _rows())

    def section(self, places: Places) -> Section:
        rows = read_rows(places.results / _FILE)
        return Section(_claims(rows), _sheet(rows).markdown(level=3))


def _rows() -> Iterator[list[object]]:
    hardware = find_hardware(_HARDWARE)
    for kind in _KINDS:
        for name in kind.layers:
            layer = find_layer(name)
            spaces = [MapSpace(layer, hardware, schema) for schema in SCHEMAS]
            extents = spaces[0].extents.values()
            n, d = typical_extent(math.prod(extents), len(extents)), len(extents)
            sizes = [equation_1(n, d, _PARALLEL, levels) for levels in _LEVELS]
            exact = [space.size() for space in spaces]
            yield [kind.name, name, layer.dimensions, n, d, *sizes, *exact]


def typical_extent(volume: int, d: int) -> int:
    """Return the extent of a cube of ``d`` dimensions and about this volume.

    Equation 1 has one number of tile sizes for all dimensions; a layer's differ.
    """
    return round(math.pow(volume, 1 / d))


def _sheet(rows: list[dict[str, str]]) -> Sheet:
    printed = {kind.name: "10^{} to 10^{}".format(*kind.printed) for kind in _KINDS}
    headers = ("dimensions", "n, d", "paper", *(f"eq. 1, l = {each}" for each in _LEVELS), *SCHEMAS)
    table = [
        [
            f"{row['kind']}: {row['layer']}",
            row["dimensions"],
            f"{row['n']}, {row['d']}",
            printed[row["kind"]],
            *(_power(row[name]) for name in (*_EQUATION, *SCHEMAS)),
        ]
        for row in rows
    ]
    note = (
        "Paper: as printed. Equation 1, (n^d x d! x d!/(d-k)!)^l, gives neither n nor l for the "
        f"printed ranges; here d is the number of loops, n the geometric mean of their extents, "
        f"k = {_PARALLEL}, and l the levels of memory. "
        f"{', '.join(SCHEMAS)}: exact numbers of vectors of our schemas, which have two levels, on "
        f"`{_HARDWARE}` hardware; operators without windows have nothing more in full17 than in "
        "legal13."
    )
    return Sheet("Sizes", note, "layer", headers, table)


def _power(size: str) -> str:
    return f"10^{math.log10(int(size)):.1f}"


def _claims(rows: list[dict[str, str]]) -> list[Claim]:
    """Compare the largest space of each type.

    The paper's ranges overlap: not every CNN's is said to be larger than every other layer's.
    """
    powers = {
        kind.name: [math.log10(int(row["legal13"])) for row in rows if row["kind"] == kind.name]
        for kind in _KINDS
    }
    ranges = ", ".join(
        f"{name} 10^{min(found):.1f} to 10^{max(found):.1f}" for name, found in powers.items()
    )
    others = max(max(found) for name, found in powers.items() if name != "CNN")
    inside = {levels: sum(_printed(row, levels) for row in rows) for levels in _LEVELS}
    counts = ", ".join(
        f"{count} of {len(rows)} with l = {levels}" for levels, count in inside.items()
    )
    return [
        Claim(
            "CNNs have the largest search spaces of the three (Table II).",
            max(powers["CNN"]) > others,
            f"the exact counts of schema legal13 are {ranges}; the upper ends are compared.",
        ),
        Claim(
            "equation 1 gives the ranges of Table II.",
            len(rows) in inside.values(),
            f"layers in the range of their type: {counts}.",
        ),
    ]


def _printed(row: dict[str, str], levels: int) -> bool:
    """Say whether equation 1 lies in the range that the paper prints."""
    least, most = next(kind.printed for kind in _KINDS if kind.name == row["kind"])
    return least <= math.log10(int(row[f"equation_1_levels_{levels}"])) <= most
