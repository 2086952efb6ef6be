"""No input crashes the core, and no valid row has a figure that is not finite and positive."""

from __future__ import annotations

import math

import fuzz
import numpy as np
import pytest

from maestro_env import _native
from maestro_env.map_space import SCHEMAS

GUARD = {"mac_mismatch", "below_pe_load", "below_compulsory"}
DEATHS = {f"reference_{death}" for death in ("exit", "sigfpe", "abort", "segv", "undefined")}


def test_the_layers_are_twenty_different_ones() -> None:
    layers = {
        (each.operator, *each.extents.items(), each.stride)
        for each in map(fuzz.find_layer, fuzz.LAYERS)
    }
    assert len(layers) == 20
    assert {operator for operator, *_ in layers} == {"CONV", "DSCONV", "GEMM"}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_random_actions(schema: str) -> None:
    seen = fuzz.fuzz_actions(schema, 20_000)
    assert seen.total() == 20_000
    assert {"ok", "l2_overflow", "reference_exit"} | GUARD <= seen.keys()
    assert seen["ok"] > 2_000


def test_random_directive_lists() -> None:
    seen = fuzz.fuzz_lists(20_000)
    assert seen.total() == 20_000
    assert {"ok", "above_peak"} | GUARD | DEATHS <= seen.keys()
    assert seen["ok"] > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_million_random_actions(schema: str) -> None:
    assert fuzz.fuzz_actions(schema, 1_000_000, seed=1).total() == 1_000_000


@pytest.mark.slow
def test_a_hundred_thousand_random_directive_lists() -> None:
    assert fuzz.fuzz_lists(100_000, seed=1).total() == 100_000


@pytest.mark.parametrize("figure", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("column", fuzz.COLUMNS)
def test_the_check_finds_a_bad_figure(column: int, figure: float) -> None:
    row = np.ones((1, len(_native.METRICS)))
    fuzz.check(row, ["ok"], "a row of ones")
    row[0, column] = figure
    with pytest.raises(AssertionError, match="a bad row"):
        fuzz.check(row, ["ok"], "a bad row")
