"""Regrets of searches: the file, the table and the curve."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.shown.regrets import Regrets


def filled(path: Path) -> Regrets:
    regrets = Regrets(path, [1, 3])
    for seed, ends in enumerate([(1.0, 2.0), (3.0, 8.0)]):
        for task, end in zip(["one", "two"], ends, strict=True):
            regrets.add((task, "mine", seed), np.array([np.inf, 12.0, end, 12.0, 0.5]), 0.5)
            regrets.add((task, "other", seed), np.array([2.0, 12.0, 12.0]), 1.0)
    return regrets


def test_the_table_has_the_means_of_the_seeds(tmp_path: Path) -> None:
    path = tmp_path / "new" / "found.csv"
    filled(path)
    regrets = Regrets(path, [1, 3])
    regrets.add(("one", "mine", 2), np.full(3, 0.5), 0.5)
    text = regrets.sheet().markdown()
    assert "Per cent above the optimum, 2 seeds" in text
    rows = [line.split(" | ")[0:4:3] for line in text.splitlines() if " mine " in line]
    assert ("one", "mine", 2) in regrets
    assert ("two", "mine", 2) not in regrets
    # Over the optimum: 2 and 6, whose mean is 4; 4 and 16, whose mean is 10; of both sqrt(40).
    assert [row[0] for row in rows] == ["| one", "| two", "| all"]
    expected = ["300.0 (100.0 to 500.0)", "900.0 (300.0 to 1500.0)", "532.5 (182.8 to 879.8)"]
    assert [row[1].removesuffix(" |") for row in rows] == expected


def test_lines_are_named_at_their_ends(tmp_path: Path) -> None:
    filled(tmp_path / "found.csv").draw(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000
    text = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {method} -->" in text for method in ("mine", "other"))


def test_a_file_of_other_samples_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "found.csv")
    with pytest.raises(ValueError, match="other numbers of samples; write to another folder"):
        Regrets(tmp_path / "found.csv", [1, 4])
