"""The product's models agree with the plain ones to the last bit, and a difference would show."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import core_outcomes
import numpy as np
import plain_core
import pytest
from cpp import ROOT
from differential import (
    compare_lists,
    compare_points,
    compare_rows,
    require_same_outcome,
    require_same_rows,
)
from hypothesis import given
from hypothesis import strategies as st

from maestro_env import _native
from maestro_env.map_space import SCHEMAS
from maestro_env.models import MODELS

GUARD = {"mac_mismatch", "below_pe_load", "below_compulsory"}


# --- What is compared ---------------------------------------------------------------------------


def test_the_plain_core_is_another_one_of_the_same_statuses_and_figures() -> None:
    plain = plain_core.load()
    assert plain is not _native
    assert (plain.METRICS, plain.STATUSES) == (_native.METRICS, _native.STATUSES)
    with plain_core.plain_core():
        assert core_outcomes._native is plain
    assert core_outcomes._native is _native


def test_the_plain_core_has_the_plain_models_and_no_file_of_the_products_models() -> None:
    tree = plain_core.tree()
    models = {place for place in tree if place.startswith(("native/exact/", "native/maestro/"))}
    assert "native/exact/model.cpp" in models
    assert {tree[place].relative_to(ROOT).parts[:2] for place in models} == {("tests", "plain")}


@pytest.mark.parametrize(("model", "schema"), list(product(MODELS, SCHEMAS)))
def test_random_points(model: str, schema: str) -> None:
    seen = compare_points(model, schema, 20_000)
    assert seen.total() == 20_000
    assert seen["ok"] > 1_000
    assert {"l2_overflow", "mac_mismatch" if model == "maestro" else "bad_layer"} <= seen.keys()


def test_random_directive_lists() -> None:
    seen = compare_lists(10_000)
    assert seen.total() > 20_000 * 0.9
    assert seen["ok"] > 1_000
    assert seen.keys() == set(_native.STATUSES)


def test_mappings_of_the_measured_rows() -> None:
    assert len(core_outcomes.mapping_rows()) == 20_000
    seen = compare_rows()
    assert seen.total() == 40_000
    assert seen["ok"] > 10_000
    assert GUARD | {"reference_exit", "reference_sigfpe", "l1_overflow", "coverage"} <= seen.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("model", "schema"), list(product(MODELS, SCHEMAS)))
def test_a_million_random_points(model: str, schema: str) -> None:
    assert compare_points(model, schema, 170_000, seed=1).total() == 170_000


@pytest.mark.slow
def test_two_hundred_thousand_random_directive_lists() -> None:
    assert compare_lists(200_000, seed=1)["ok"] > 20_000


# --- That a difference shows --------------------------------------------------------------------


def neighbour(figure: float) -> float:
    """Return the next double, or any for a NaN."""
    return 1.0 if math.isnan(figure) else math.nextafter(figure, math.inf)


@given(row=st.integers(0, 2), column=st.integers(0, len(_native.METRICS) - 1), data=st.data())
def test_one_bit_of_one_figure_shows(row: int, column: int, data: st.DataObject) -> None:
    figures = np.array([[1.0, -0.0, math.nan][i] * np.ones(len(_native.METRICS)) for i in range(3)])
    codes = np.zeros(3, dtype=np.uint8)
    points = np.arange(3, dtype=np.int32).reshape(3, 1)
    require_same_rows(points, (figures, codes), (figures.copy(), codes), "alike")
    changed = figures.copy()
    changed[row, column] = data.draw(st.sampled_from([neighbour(figures[row, column]), 0.0]))
    with pytest.raises(AssertionError, match=rf"1 rows differ, the first is \[{row}\]"):
        require_same_rows(points, (figures, codes), (changed, codes), "one")
    other = codes.copy()
    other[row] = 1
    with pytest.raises(AssertionError, match=rf"1 rows differ, the first is \[{row}\]"):
        require_same_rows(points, (figures, codes), (figures, other), "one")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all plain values of nested tuples, lists and dicts."""
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves(each, (*path, key))]
    if isinstance(value, list | tuple):
        return [leaf for i, each in enumerate(value) for leaf in leaves(each, (*path, i))]
    return [path]


def altered(value: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy with another value at the end of a path."""
    if not path:
        return {
            float: neighbour,
            int: lambda number: number + 1,
            str: lambda text: f"{text}0",
            type(None): lambda _: 0,
        }[type(value)](value)
    step, *rest = path
    if isinstance(value, dict):
        return {k: altered(v, tuple(rest)) if k == step else v for k, v in value.items()}
    return type(value)(altered(v, tuple(rest)) if i == step else v for i, v in enumerate(value))


def test_every_part_of_an_outcome_is_compared() -> None:
    rows = core_outcomes.mapping_rows()
    clustered = next(row for row in rows if sum("Cluster" in each for each in row["dataflow"]) == 2)
    outcome = core_outcomes.row_outcome(clustered)
    require_same_outcome(outcome, core_outcomes.row_outcome(clustered), "alike")
    paths = leaves(outcome)
    # Figures of four evaluators, results of the report, two CSV rows.
    assert len(paths) > 4 * len(_native.METRICS) + 50 + 2 * 40
    for path in paths:
        with pytest.raises(AssertionError, match="one"):
            require_same_outcome(outcome, altered(outcome, path), "one")
