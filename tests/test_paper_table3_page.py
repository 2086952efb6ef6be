"""What the page says of Table III, of searches that were made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from table3_helpers import LAYER, Found, arena, ends

from experiments.compare.config import CompareConfig
from experiments.csv_files import write_csv
from experiments.paper import table3_page
from experiments.paper.arena import Arena
from experiments.paper.rows import read_rows
from experiments.paper.table3 import MAPPERS
from experiments.paper.table3_rows import tables
from experiments.paper.table3_text import Seeds, cheaper_forms, twins_told
from experiments.paper.tuned import TUNED, twin

AT = (1, 2, 5, 10, 100)


def body(results: Path, arenas: Sequence[Arena]) -> str:
    results.mkdir(exist_ok=True)
    for name, header, rows in tables(arenas, MAPPERS, AT, {"paper": 1, "edge": 1}):
        write_csv(results / name, header, rows)
    return table3_page.section(results).body


def line(text: str, title: str, start: str) -> list[str]:
    """Return the cells of the row of a table that begins like this."""
    table = text.partition(f"### {title}")[2].partition("\n### ")[0]
    (found,) = (each for each in table.splitlines() if each.startswith(f"| {start} "))
    return [each.strip() for each in found.strip("|").split("|")]


def contest(marl: Sequence[Found], ga: Sequence[Found], model: str = "exact") -> Arena:
    rest: dict[str, Sequence[Found]] = {each: ends(900) for each in ("random", "bo", "gamma")}
    made = arena({**rest, "ppo": [{50: 40.0}], "ga": ga, "marl": marl, "long": ends(10)})
    return replace(made, model=model)


def test_rows_of_cells_are_those_of_exact_whatever_another_model_has(tmp_path: Path) -> None:
    exact = contest([{1: 40.0, 2: 20.0, 4: 10.0}], [{1: 50.0, 30: 30.0}])
    maestro = contest([{1: 7e3}], [{1: 5e3}], "maestro")
    found = line(body(tmp_path, [exact, maestro]), "Every reporting cell", LAYER + ",")
    # At 2 samples 20 / 10 and 50 / 10, at the end 10 / 10 and 30 / 10.
    assert found == [
        *(f"{LAYER}, latency, paper", "2.000", "5.000 (ga)", "1.000", "3.000 (ga)"),
        *("4", "never", "100.0"),
    ]


def test_the_expected_samples_can_be_read_beside_the_medians(tmp_path: Path) -> None:
    body(tmp_path, [contest([{5: 10.0}, {9: 10.0}, {1: 99.0}], ends(11))])
    rows = {row["mapper"]: row for row in read_rows(tmp_path / "cells.csv")}
    assert float(rows["marl"]["expected_to_2"]) == (5 + 9 + 100) / 2
    assert (rows["marl"]["median_to_2"], rows["marl"]["arrived_at_2"]) == ("9", "2")
    assert rows["ga"]["expected_to_2"] == "inf"


def test_rows_say_where_a_mapper_has_fewer_seeds(tmp_path: Path) -> None:
    arenas = [contest(ends(1, 2, 3), ends(1, 2, 3)), contest(ends(1, 2), ends(1, 2), "maestro")]
    text = body(tmp_path, arenas)
    for table in ("Cost after so many samples: exact", "Samples to near the best known: exact"):
        assert line(text, table, "bo")[0] == "bo (1 seed)"
        assert line(text, table, "ga")[0] == "ga"
    table = "Cost after so many samples: maestro"
    assert line(text, table, "ga")[0] == "ga (2 seeds)"
    assert line(text, "As the paper has it", "bo")[0] == "bo (1 seed)"
    assert line(text, "Cells where MARL is best", "bo")[0] == "bo (1 seed)"
    assert "Each mapper has 3 seeds in a cell" in text
    few = ("random", "bo", "gamma", "ppo")
    told = f"With fewer seeds: {', '.join(f'{name} (1 seed)' for name in few)}."
    assert told in text.partition("### Every reporting cell")[2]


def test_a_column_of_a_model_says_its_seeds_if_they_are_the_same_ones() -> None:
    def rows(**seeds: int) -> list[dict[str, str]]:
        return [
            {"model": model, "mapper": mapper, "seeds": str(count)}
            for model, mappers in (("exact", {"ga": 10, "bo": 3}), ("maestro", seeds))
            for mapper, count in mappers.items()
        ]

    assert Seeds(rows(ga=3, bo=3)).fewer("maestro") == "3 seeds"
    assert Seeds(rows(ga=3, bo=2)).fewer("maestro") == "2 to 3 seeds"
    assert Seeds(rows(ga=10)).fewer("maestro") == ""
    assert Seeds(rows()).fewer("maestro") == ""
    assert Seeds(rows()).fewer("exact", "bo") == "3 seeds"


def test_variants_that_cost_less_for_certain_are_told() -> None:
    def row(mapper: str, samples: int, low: str, high: str) -> dict[str, str]:
        figures = {"ratio": "0.9", "low": low, "high": high, "without": "0", "alone": "0"}
        return {"mapper": mapper, "samples": str(samples), **figures}

    def samples(row: Mapping[str, str]) -> str:
        return f"after {row['samples']}"

    rows = [
        row("marl:agents=1", 500, "0.8", "0.99"),
        row("marl:agents=1", 1000, "0.8", "0.98"),
        row("marl:agents=1", 2000, "0.8", "1.01"),
        row("ga", 500, "0.8", "0.9"),
        row("marl_mlp", 500, "", ""),
        {**row("marl_clustered", 500, "0.8", "0.9"), "without": "1"},
    ]
    told = cheaper_forms(rows, samples)
    assert told.endswith(
        ": `marl:agents=1` after 500 (0.9000 [0.8000, 0.9900]), after 1000 (0.9000 [0.8000, "
        "0.9800])."
    )
    assert cheaper_forms(rows[2:], samples) == ""


def test_the_tables_say_where_variants_cost_less(tmp_path: Path) -> None:
    cell = arena({"marl": ends(20, 20), "marl:agents=1": ends(10, 10), "ga": ends(30, 30)})
    text = body(tmp_path, [cell, replace(cell, model="maestro")])
    assert "`marl:agents=1` under exact (0.5000 [0.5000, 0.5000]), under maestro (" in text
    assert "`marl:agents=1` after 1 samples (0.5000 [0.5000, 0.5000]), after 2 samples (" in text


def test_the_page_says_where_groups_come_from_chance(tmp_path: Path) -> None:
    cell = contest(ends(1), ends(2))
    assert "from chance" not in body(tmp_path, [cell])
    assert "from chance" in body(tmp_path, [cell, replace(cell, hardware="edge")])


# --- Layers that settings were chosen on --------------------------------------------------------


def test_tuned_layers_are_those_of_the_comparison() -> None:
    assert ",".join(TUNED) == CompareConfig().layers


@pytest.mark.parametrize(
    ("layer", "same"),
    [("resnet50_l2", "resnet18_l2"), ("resnet18_l16", "resnet18_l16"), ("vgg16_l2", None)],
)
def test_a_twin_has_the_same_shape(layer: str, same: str | None) -> None:
    assert twin(layer) == same


def test_the_page_says_which_layers_have_twins() -> None:
    assert "resnet50_l2 has the very shape of resnet18_l2." in twins_told(
        ("vgg16_l2", "resnet50_l2")
    )
    assert "none of the layers here" in twins_told(("vgg16_l2",))
