"""A file of the C++ core includes its own room and rooms below, so that no circle can arise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cpp import ROOT

NATIVE = ROOT / "native"
FLOORS = (
    ("core",),
    ("wide",),
    ("exact", "maestro"),
    ("evaluate", "hierarchy"),
    ("agents", "improve", "optimum", "perceptrons", "prior", "relaxed"),
    ("papers",),
    ("python",),
)
"""The lowest first; rooms of one floor know nothing of each other."""
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])(.+)[>"]', re.MULTILINE)


def includes(path: Path) -> Iterator[str]:
    """Yield what a file of the core includes: paths below ``native/``, or names such as <array>."""
    for bracket, name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        if bracket == "<":
            yield f"<{name}>"
        else:
            yield (path.parent / name).resolve().relative_to(NATIVE).as_posix()


def is_allowed(place: str, included: str) -> bool:
    """Tell whether a file of the core, at a place below ``native/``, may include another one."""
    room = place.split("/")[0]
    if included.startswith("<"):
        return room == FLOORS[-1][0] or not re.match("<(pybind11|Python.h)", included)
    other = included.split("/")[0]
    return other == room or FLOOR_OF[other] < FLOOR_OF[room]


def test_includes_lead_down_and_python_is_on_top_alone() -> None:
    files = [path for path in NATIVE.rglob("*") if path.suffix in (".cpp", ".hpp")]
    found = [(str(path.relative_to(NATIVE)), name) for path in files for name in includes(path)]
    assert {place.split("/")[0] for place, _ in found} == set(FLOOR_OF)
    assert len(found) > 500
    assert [each for each in found if not is_allowed(*each)] == []


@pytest.mark.parametrize(
    ("place", "included"),
    [
        ("core/model.hpp", "evaluate/batch.hpp"),
        ("exact/wide/cuts.hpp", "maestro/cut.hpp"),
        ("wide/target.hpp", "exact/wide/problem.hpp"),
        ("prior/proposer.cpp", "<pybind11/numpy.h>"),
        ("core/layer.hpp", "<Python.h>"),
    ],
)
def test_a_step_up_or_aside_is_seen(place: str, included: str) -> None:
    assert not is_allowed(place, included)
