"""No input crashes the core, and no valid row has a figure that is not finite and positive."""

from __future__ import annotations

import fuzz
import pytest
from two_levels import MODELS

from maestro_env.mapspace.two_level_space import SCHEMAS

GUARD = {"mac_mismatch", "below_pe_load", "below_compulsory"}
DEATHS = {f"reference_{death}" for death in ("exit", "sigfpe", "abort", "segv", "undefined")}


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("model", MODELS)
def test_random_actions(model: str, schema: str) -> None:
    seen = fuzz.fuzz_actions(model, schema, 20_000)
    assert seen.total() == 20_000
    assert seen["ok"] > 2_000
    if model == "exact":
        # Every vector is a well-formed mapping.
        assert {"ok", "l1_overflow"} <= seen.keys() <= {"ok", "l1_overflow", "l2_overflow"}
    else:
        assert {"ok", "l2_overflow", "reference_exit"} | GUARD <= seen.keys()


def test_random_directive_lists() -> None:
    seen = fuzz.fuzz_lists("maestro", 2_000)
    assert seen.total() == 2_000
    assert {"ok", "above_peak"} | GUARD | DEATHS <= seen.keys()
    assert seen["ok"] > 100


def test_random_directive_lists_under_exact() -> None:
    seen = fuzz.fuzz_lists("exact", 2_000)
    assert seen.total() == 2_000
    assert seen.keys() == {"ok", "l1_overflow", "l2_overflow", *fuzz.ILL_FORMED}
    assert seen["ok"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("model", MODELS)
def test_a_million_random_actions(model: str, schema: str) -> None:
    assert fuzz.fuzz_actions(model, schema, 1_000_000, seed=1).total() == 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_hundred_thousand_random_directive_lists(model: str) -> None:
    assert fuzz.fuzz_lists(model, 100_000, seed=1).total() == 100_000
