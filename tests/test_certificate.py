"""The certificate: what is written, and that nothing else is left behind."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from optimum_helpers import LATENCY, problem, solved

from maestro_env.optimum import certificate
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.search import OptimumError


def test_a_certificate_is_the_same_whatever_the_threads(tmp_path: Path) -> None:
    task, search = problem("mobilenetv2_l51"), solved("mobilenetv2_l51", "edge", "latency")
    made = [
        certify(task, LATENCY, search.best, search.best_point, search.bound, path, threads)
        for threads, path in ((1, tmp_path / "one.gz"), (3, tmp_path / "three.gz"))
    ]
    assert made[0] == made[1]
    content = gzip.decompress((tmp_path / "one.gz").read_bytes())
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "three.gz").read_bytes()
    assert made[0].digest == hashlib.sha256(content).hexdigest()
    assert made[0].bytes == (tmp_path / "one.gz").stat().st_size
    header = json.loads(content.split(b"\n", 1)[0])
    assert header["bound"] == header["optimum"]["value"] == 120_291
    point = np.array([header["optimum"]["point"]], dtype=np.int32)
    assert task.score(point, LATENCY)[0].tolist() == [120_291]


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(certificate, "_bytes", interrupt)
    with pytest.raises(KeyboardInterrupt):
        certify(problem("resnet18_l2"), LATENCY, None, None, 1e5, tmp_path / "c.gz")
    assert not list(tmp_path.iterdir())


def test_what_has_no_bound_has_no_certificate(tmp_path: Path) -> None:
    maestro = problem("resnet18_l2", model="maestro")
    with pytest.raises(OptimumError, match="model maestro has no bounds"):
        certify(maestro, LATENCY, None, None, 0.0, tmp_path / "c.gz")
