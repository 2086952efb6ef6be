"""No input crashes the core, and no valid row has a figure that is not finite and positive."""

from __future__ import annotations

import math

import drawn
import fuzz
import numpy as np
import pytest

from maestro_env import _native
from maestro_env.evaluation.models import MODELS
from maestro_env.mapspace.space import SCHEMAS
from maestro_env.workloads.finding import find_layer

GUARD = {"mac_mismatch", "below_pe_load", "below_compulsory"}
DEATHS = {f"reference_{death}" for death in ("exit", "sigfpe", "abort", "segv", "undefined")}


def test_the_layers_are_twenty_different_ones() -> None:
    layers = {
        (each.operator, *each.extents.items(), each.stride)
        for each in map(find_layer, drawn.LAYERS)
    }
    assert len(layers) == 20
    assert {operator for operator, *_ in layers} == {"CONV", "DSCONV", "GEMM"}


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
    seen = fuzz.fuzz_lists("maestro", 6_000)
    assert seen.total() == 6_000
    assert {"ok", "above_peak"} | GUARD | DEATHS <= seen.keys()
    assert seen["ok"] > 300


def test_random_directive_lists_under_exact() -> None:
    seen = fuzz.fuzz_lists("exact", 6_000)
    assert seen.total() == 6_000
    assert seen.keys() == {"ok", "l1_overflow", "l2_overflow", *fuzz.ILL_FORMED}
    assert seen["ok"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("model", MODELS)
def test_a_million_random_actions(model: str, schema: str) -> None:
    assert fuzz.fuzz_actions(model, schema, 1_000_000, seed=1).total() == 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_hundred_thousand_random_directive_lists(model: str) -> None:
    assert fuzz.fuzz_lists(model, 100_000, seed=1).total() == 100_000


@pytest.mark.parametrize("figure", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("column", fuzz.COLUMNS)
def test_the_check_finds_a_bad_figure(column: int, figure: float) -> None:
    row = np.ones((1, len(_native.METRICS)))
    fuzz.check(row, ["ok"], "a row of ones")
    row[0, column] = figure
    with pytest.raises(AssertionError, match="a bad row"):
        fuzz.check(row, ["ok"], "a bad row")


def test_the_check_finds_figures_of_an_ill_formed_row() -> None:
    row = np.full((1, len(_native.METRICS)), math.nan)
    fuzz.check(row, ["coverage"], "an empty row")
    for status, figure in (("coverage", 1.0), ("l2_overflow", math.nan)):
        row[0, 0] = figure
        with pytest.raises(AssertionError, match="a bad row"):
            fuzz.check(row, [status], "a bad row")
