"""Sizes of map spaces: what is counted and what equation 1 gives."""

from __future__ import annotations

import csv
import math
from itertools import permutations
from pathlib import Path

from experiments.paper.item import QUICK, Places, Section
from experiments.paper.table2 import Table2, typical_extent

LAYER = "gemm:M=64,N=64,K=64"


# --- Table II -----------------------------------------------------------------------------------


def table2(tmp_path: Path) -> tuple[list[dict[str, str]], Section]:
    places = Places(tmp_path, tmp_path, tmp_path, "images")
    Table2().write({}, QUICK, places)
    with (tmp_path / "spaces.csv").open(newline="") as file:
        return list(csv.DictReader(file)), Table2().section(places)


def test_exact_counts_are_products_of_choices(tmp_path: Path) -> None:
    rows, _ = table2(tmp_path)
    found = {row["layer"]: row for row in rows}
    # Two levels: 6! orders, 4 parallel dimensions, tiles of K, C, Y', X'; 1,024 cluster sizes.
    level = math.factorial(6) * 4 * (128 * 64 * 112 * 112)
    assert int(found["vgg16_l2"]["legal13"]) == level**2 * 1024
    assert int(found["vgg16_l2"]["full17"]) == (level * 3 * 3) ** 2 * 1024
    # 3! orders and 3 parallel dimensions.
    level = math.factorial(3) * 3 * (384 * 3072 * 768)
    assert int(found["bert_base_l4"]["legal13"]) == level**2 * 1024


def test_equation_1_is_evaluated_for_a_cube_of_the_layers_volume(tmp_path: Path) -> None:
    rows, section = table2(tmp_path)
    row = next(row for row in rows if row["layer"] == "alexnet_l6")
    # 1 x 4,096 x 4,096 is the volume of 256 x 256 x 256.
    assert (row["n"], row["d"]) == ("256", "3")
    one = 256**3 * len(list(permutations(range(3)))) * 3
    assert [int(row[f"equation_1_levels_{levels}"]) for levels in (1, 2)] == [one, one**2]
    assert typical_extent(8 * 27, 3) == 6
    first, second = section.claims
    assert (first.holds, second.holds) == (True, False)
    assert second.found == (
        "layers in the range of their type: 6 of 10 with l = 1, 8 of 10 with l = 2, 5 of 10 with "
        "l = 3."
    )
    assert "10^17.0" in section.body
