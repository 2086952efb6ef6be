"""Whatever is named in a line of a command, a terminal shows it and obeys none of it."""

from __future__ import annotations

import pytest

from experiments.shell.telling import say, tell
from experiments.shown.tables import Sheet
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation.explanation import explain_mapping
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.layer import Layer

# Back to the line's begin, another colour, another line, bytes that are no text, hidden turns of
# direction, no width, the control characters of 8 bits.
HOSTILE = "a\r\x1b[2K\x1b[8mb\nverified: all\udcff\u202e\u200b\x9b1m"


def test_a_line_is_one_line_of_what_a_terminal_shows(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE, "two")
    tell(HOSTILE)
    out, err = capsys.readouterr()
    shown = r"a\r\x1b[2K\x1b[8mb\nverified: all\udcff\u202e\u200b\x9b1m"
    assert (out, err) == (f"{shown}\ntwo\n", f"{shown}\n")


def test_tables_obey_none_of_their_texts(capsys: pytest.CaptureFixture[str]) -> None:
    Sheet(HOSTILE, ("name",), (HOSTILE,), [(HOSTILE, HOSTILE)], HOSTILE).print()
    assert all(line.isprintable() for line in capsys.readouterr().out.split("\n"))


def test_explanations_obey_none_of_their_names() -> None:
    layer = Layer("GEMM", {"M": 4, "N": 4, "K": 4}, name=HOSTILE)
    problem = Problem(MapSpace(layer, Hardware(4, name=HOSTILE)))
    told = str(explain_mapping(problem, problem.space.decode(problem.space.sizes * 0)))
    assert r"a\r\x1b[2K\x1b[8mb\nverified" in told
    assert not any(line.startswith("verified") for line in told.split("\n"))
    assert all(line.isprintable() for line in told.split("\n"))
