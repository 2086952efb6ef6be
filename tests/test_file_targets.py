"""Files and programs of others, some damaged, are read or refused; anything else would show."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

pytest.importorskip("onnx")

import file_targets
from certificate_forger import TINY
from fuzz_files import TARGETS
from optimum_helpers import EDP


@pytest.mark.parametrize("name", TARGETS[1:])
def test_damaged_files_are_read_or_refused(name: str) -> None:
    seeds, check = file_targets.TARGETS[name]
    rng = random.Random(0)
    for seed in seeds():
        check(seed)
        start = rng.randrange(len(seed))
        check(seed[:start] + rng.randbytes(2) + seed[start + rng.randrange(9) :])


def test_a_false_bound_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = SimpleNamespace(problem=TINY, objective=EDP, bound=file_targets.least_edp())
    monkeypatch.setattr(file_targets, "verify", lambda _: SimpleNamespace(claim=claim))
    file_targets.check_certificate(b"")
    claim.bound *= 1.01
    with pytest.raises(AssertionError):
        file_targets.check_certificate(b"")
