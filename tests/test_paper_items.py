"""Items of figures are written and shown, whatever has ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from paper_helpers import made_up, places_in

from experiments.cells import Finished
from experiments.paper.curves import log_spaced
from experiments.paper.decomposition import Decomposition
from experiments.paper.fig5 import Fig5
from experiments.paper.fig6 import Fig6
from experiments.paper.fig7 import Fig7
from experiments.paper.item import QUICK, Item, Places, Run
from experiments.paper.overhead import Overhead
from experiments.paper.searches import goal


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return places_in(tmp_path)


def searched(run: Run) -> Finished:
    """A search of a run that finds something, more or less late."""
    columns = len(goal(run).problem.space.parameters)
    still = np.full((4, columns), 0.1).tolist()
    last = 100.0 - run.seed
    improvements = [(1, 200.0), (run.samples // 2, last)]
    return made_up(run, improvements, [1.0, 2.0, 3.0, 3.0], still, still, warm_up=0)


@pytest.mark.parametrize("item", [Fig5(), Decomposition(), Fig6(), Fig7(), Overhead()])
@pytest.mark.parametrize("kept", ["all", "one mapper", "all but one mapper"])
def test_items_are_written_of_whatever_has_ended(item: Item, kept: str, places: Places) -> None:
    item.prepare(QUICK, places)
    runs = list(item.runs(QUICK))
    mapper = runs[-1].mapper
    chosen = {
        "all": runs,
        "one mapper": [run for run in runs if run.mapper == mapper],
        "all but one mapper": [run for run in runs if run.mapper != mapper],
    }[kept]
    item.write({run: searched(run) for run in chosen}, QUICK, places)
    section = item.section(places)
    assert section.body
    assert "no valid mapping yet" not in section.body
    if kept == "all" and item.name in ("fig6", "overhead"):
        assert "too few of its searches have a valid mapping yet" in section.body
    if kept == "all":
        assert section.claims
        assert item.section(places) == section
    assert all(each.found.endswith(".") and "nan" not in each.found for each in section.claims)


def test_kept_windows_are_spaced_on_a_logarithmic_axis() -> None:
    kept = log_spaced(100)
    assert kept[:4] == [0, 1, 2, 3]
    assert kept[-1] == 99
    assert np.all(np.diff(kept) > 0)
    assert len(kept) <= 40
    assert log_spaced(1) == [0]
