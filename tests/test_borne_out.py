"""What a record says is proven is searched again, whichever command reads it."""

from __future__ import annotations

import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import optimum
from optimum_helpers import every_vector

from maestro_env.accelerators.finding import find_hardware
from maestro_env.experiments.problems.labels import Held, known_optima
from maestro_env.experiments.proving.many import OptimumCell, Proof, unfinished
from maestro_env.experiments.proving.proof import ProofRecord, ProofState, find_optimum
from maestro_env.experiments.search.goals import ProblemConfig, make_goal
from maestro_env.experiments.shell.files import (
    DamagedError,
    RecordError,
    read_record,
    user_cache,
    write_record,
)
from maestro_env.optimum.search import OptimumSearch
from maestro_env.optimum.solving import Limits
from maestro_env.workloads.finding import find_layer

LAYER, HARDWARE = "gemm:M=2,N=3,K=4", "num_pes=4"
GOAL = make_goal(ProblemConfig(), find_layer(LAYER), find_hardware(HARDWARE), "edp")


@pytest.mark.slow
@pytest.mark.parametrize("proven", [True, False])
def test_a_worse_mapping_is_not_proven_by_a_record_without_boxes(
    proven: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = every_vector(GOAL.require("levels").space)
    values, _ = GOAL.require("levels").score(points, GOAL.objective)
    worst = int(np.where(np.isfinite(values), values, 0).argmax())
    value = float(values[worst])
    found = ProofState(value, points[worst].tolist(), value if proven else 1.0, curve=[(0, 1, 1)])
    proof = Proof(OptimumCell(GOAL, LAYER), Limits(), certified=False, directory=tmp_path)
    proof.path.parent.mkdir(parents=True)
    said = f"says that no mapping has less than {value:g}, but one has {values.min():g}"

    def forge(path: Path) -> None:
        none = OptimumSearch(GOAL.require("levels"), GOAL.objective).left[:0]
        ProofRecord(path, GOAL, {}).write(found, none)

    forge(proof.path)
    with pytest.raises(DamagedError, match=said):
        [each.compute(lambda *_: None) for each in unfinished([proof])]
    forge(proof.path)
    if proven:
        with pytest.raises(DamagedError, match=said):
            find_optimum(GOAL, proof.path, {}, "delete it", search=False)
    else:
        known = find_optimum(GOAL, proof.path, {}, "delete it")
        assert known is not None
        assert (known.value, known.bound) == (value, values.min())
    forge(tmp_path / "optimum.json")
    flags = [f"--layer={LAYER}", f"--hardware={HARDWARE}", f"--out={tmp_path}", "--resume"]
    assert optimum(flags) == 2
    assert said in capsys.readouterr().err
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = Proof(proof.cell, Limits(), certified=False, directory=user_cache() / "proofs")
    kept.path.parent.mkdir(parents=True)
    forge(kept.path)
    with pytest.raises(RecordError):
        known_optima([Held(GOAL, LAYER, "mine")], Limits().nodes)


@pytest.mark.parametrize("odd", [{"nodes": -1}, {"samples": True}, {"seconds": -0.5}])
def test_counts_that_no_search_has_are_refused(odd: dict[str, Any], tmp_path: Path) -> None:
    path, left = (
        tmp_path / "optimum.json",
        OptimumSearch(GOAL.require("levels"), GOAL.objective).left,
    )
    ProofRecord(path, GOAL, {}).write(ProofState(**odd), left)
    with pytest.raises(DamagedError, match=f"{path} is not a search: {next(iter(odd))} is"):
        ProofRecord(path, GOAL, {}).read()


def test_boxes_are_no_more_than_their_shape_says(tmp_path: Path) -> None:
    path, search = tmp_path / "optimum.json", OptimumSearch(GOAL.require("levels"), GOAL.objective)
    ProofRecord(path, GOAL, {}).write(ProofState(), search.left)
    entry = read_record(path, "")
    for left in ({"shape": [2**20, 2**20]}, {"boxes": b64encode(zlib.compress(bytes(2**24)))}):
        text = {name: each.decode() if name == "boxes" else each for name, each in left.items()}
        write_record(path, {**entry, "left": {**entry["left"], **text}})
        with pytest.raises(DamagedError, match="is not a search"):
            ProofRecord(path, GOAL, {}).read()


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    path, left = (
        tmp_path / "optimum.json",
        OptimumSearch(GOAL.require("levels"), GOAL.objective).left,
    )
    ProofRecord(path, GOAL, {}).write(ProofState(), left)
    path.write_text(path.read_text().replace('"seconds": 0.0', '"seconds": NaN'))
    with pytest.raises(DamagedError, match="it has the number NaN"):
        ProofRecord(path, GOAL, {}).read()
