"""Whatever is named in a line of a command, a terminal shows it and obeys none of it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.shell.files import csv_cell, read_csv, write_csv
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.tables import Table, at_most
from maestro_env.explanation.explanation import explain_mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

# Back to the line's begin, another colour, another line, bytes that are no text, hidden turns of
# direction, no width, the control characters of 8 bits.
HOSTILE = "a\r\x1b[2K\x1b[8mb\nverified: all\udcff\u202e\u200b\x9b1m"


def test_a_line_is_one_line_of_what_a_terminal_shows(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(HOSTILE, "two")
    print_errors(HOSTILE)
    out, err = capsys.readouterr()
    shown = r"a\r\x1b[2K\x1b[8mb\nverified: all\udcff\u202e\u200b\x9b1m"
    assert (out, err) == (f"{shown}\ntwo\n", f"{shown}\n")


def test_tables_obey_none_of_their_texts(capsys: pytest.CaptureFixture[str]) -> None:
    Table(HOSTILE, ("name",), (HOSTILE,), [(HOSTILE, HOSTILE)], HOSTILE).print()
    assert all(line.isprintable() for line in capsys.readouterr().out.split("\n"))


def test_markdown_has_no_link_or_image_of_a_name() -> None:
    name = "![a](https://b.c) [d][e] \\](f) <img>"
    told = Table(name, ("name",), (), [(name,)], name).markdown()
    assert "](" not in told
    assert "][" not in told
    assert "<img" not in told


def test_no_text_of_a_csv_file_is_a_formula_and_all_are_read_back(tmp_path: Path) -> None:
    texts = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@x", "'=x", "'", "a=b"]
    numbers = ["-", "-0.5", "+1e-05", "", "7"]
    path = tmp_path / "table.csv"
    write_csv(path, ("text", "number"), zip(texts, [*numbers, -1, None], strict=True))
    with path.open(newline="") as file:
        written = [row["text"] for row in csv.DictReader(file)]
    assert [each[0] for each in written] == [*["'"] * 6, "a"]
    rows = read_csv(path)
    assert [row["text"] for row in rows] == texts
    assert [row["number"] for row in rows] == [*numbers, "-1", ""]
    assert csv_cell("\r\t=x") == r"\r\t=x"


def test_explanations_obey_none_of_their_names() -> None:
    layer = Layer("GEMM", {"M": 4, "N": 4, "K": 4}, name=HOSTILE)
    problem = Problem(MapSpace(layer, Hardware(4, name=HOSTILE)))
    told = str(explain_mapping(problem, problem.space.decode(problem.space.sizes * 0)))
    assert r"a\r\x1b[2K\x1b[8mb\nverified" in told
    assert not any(line.startswith("verified") for line in told.split("\n"))
    assert all(line.isprintable() for line in told.split("\n"))


def test_what_is_proven_is_not_rounded_down() -> None:
    assert [*map(at_most, (0.000208, 0.0002, 0.00000001, 0.05))] == [
        *("0.03%", "0.02%", "0.01%", "5.00%")
    ]
