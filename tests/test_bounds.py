"""No valid row is below a printed lower bound, whatever layer, machine and mapping."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from bounds import BOUNDED, Tally, main, random_layer, random_machine, random_problem
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import column
from two_levels import MODELS

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import all_layers, find_layer
from maestro_env.workloads.layer import Layer


def plain_bounds(layer: Layer, hardware: Hardware) -> dict[str, float]:
    """The lower bounds written out: peak throughput, compulsory traffic, one block a buffer."""
    once = layer.input_words + layer.filter_words
    l1, l2 = 4 * layer.macs + once, 2 * (once + layer.output_words)
    latency = math.ceil(layer.macs / (hardware.num_pes * hardware.simd_lanes))
    energy = 0.00023 * (layer.macs + 1.68 * l1 + 18.61 * l2)
    area = hardware.num_pes * (4470 + 4505.1889) + 4161.536
    return {"latency": latency, "energy": energy, "edp": latency * energy, "area": area}


def test_the_bounds_are_peak_throughput_and_compulsory_traffic() -> None:
    rng = Random(1)
    for _ in range(100):
        layer, machine = random_layer(rng), random_machine(rng)
        printed = {each.name: each.bound(layer, machine) for each in BOUNDED}
        assert printed == pytest.approx(plain_bounds(layer, machine), rel=1e-12)


@given(st.randoms(use_true_random=False), st.sampled_from(list(MODELS)))
def test_no_valid_row_is_below_a_bound(rng: Random, model: str) -> None:
    Tally().add(random_problem(rng, model, random_layer(rng)), rng, 150)


@pytest.mark.slow
def test_a_million_valid_rows_of_each_model_are_above_the_bounds() -> None:
    main()


@pytest.mark.parametrize("model", MODELS)
def test_searches_come_near_the_bounds(model: str) -> None:
    rng, tally = Random(2), Tally()
    while len(tally.layers) < 15:
        tally.add(random_problem(rng, model, random_layer(rng)), rng, 150)
    assert tally.rows > 3_000
    assert any(layer.is_strided for layer in tally.layers)
    assert max(tally.least["latency"], tally.least["area"]) < 1.001
    assert tally.least["energy"] < 1.2


def test_a_layer_whose_partial_sums_are_miscounted_has_no_valid_row() -> None:
    # MAESTRO counts half of them, whatever the mapping.
    layer = find_layer("conv:K=13,C=9,Y=8,X=9,R=4,S=3,stride=3x2")
    guarded = Problem(MapSpace(layer, PRESETS["edge"]), "maestro")
    points = guarded.space.sample(2000, np.random.default_rng(0))
    believed = replace(guarded, guard=False).evaluate(points)
    right = column(believed.metrics, "macs") == layer.macs
    assert right.sum() > 100
    for count in ("output_l1_reads", "output_l1_writes"):
        assert (column(believed.metrics, count)[right] == layer.macs / 2).all()
    assert (guarded.evaluate(points).status != OK).all()


def test_no_strided_layer_of_the_zoo_has_its_partial_sums_miscounted() -> None:
    checked = 0
    for layer in filter(lambda each: each.is_strided, all_layers()):
        problem = Problem(MapSpace(layer, PRESETS["edge"]), "maestro", guard=False)
        rows = problem.evaluate(problem.space.sample(1000, np.random.default_rng(0)))
        right = column(rows.metrics, "macs") == layer.macs
        assert (column(rows.metrics, "output_l1_writes")[right] >= layer.macs).all()
        checked += int(right.sum())
    assert checked > 200
