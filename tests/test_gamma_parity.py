"""The mapper gamma beside what GAMMA's own program found."""

from __future__ import annotations

import numpy as np
import pytest
from commands import gamma_parity as main

from experiments.commands.gamma_parity import job


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([2.0, 3.0, 9.0], (True, True)),
        ([2.1, 3.0, 3.0], (True, False)),
        ([1.0, 3.1, 3.2], (False, True)),
        ([np.inf, np.inf], (False, False)),
    ],
)
def test_our_median_is_held_against_their_worst_and_our_best_against_their_median(
    ours: list[float], expected: tuple[bool, bool]
) -> None:
    assert job.holds(np.array(ours), np.array([3.0, 1.0, 2.0])) == expected


def test_the_parity_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layer = "conv:K=16,C=32,Y=112,X=112,R=1,S=1"
    found = {100: (1e9, 1e9, 1e9), 2000: (4000, 4000, 4e9)}
    monkeypatch.setattr(job, "ORIGINAL", {(layer, "latency"): found})
    assert main(["--seeds=2", "--seed=3"]) == 0
    shown = capsys.readouterr().out
    assert "seeds 3 to 4" in shown
    rows = [line for line in shown.splitlines() if line.lstrip().startswith("K=16")]
    assert [row.split()[2] for row in rows] == ["100", "2,000"]
    assert all(row.count("as good") == 2 for row in rows)
    assert main(["--seeds=2", "--mapper=random"]) == 1
    assert "worse" in capsys.readouterr().out
    assert main(["--mapper=gama"]) == 2


@pytest.mark.slow
def test_gamma_is_as_good_as_the_original() -> None:
    assert main([]) == 0
