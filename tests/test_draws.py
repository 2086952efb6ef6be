"""Start distributions against their definition."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import CONV, PES, spaces
from scipy.stats import chisquare

from maestro_env.accelerators.hardware import Hardware
from maestro_env.mappers.parts.arrays import DRAWS, log_uniform
from maestro_env.mapspace.space import TILES, Parameter
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

DRAWN = 20_000


def expected(parameter: Parameter) -> np.ndarray:
    """Chance of every choice: of a log-uniform real, rounded down, or uniform."""
    if parameter.kind not in ("tile", "cluster"):
        return np.full(len(parameter.values), 1 / len(parameter.values))
    ends = [*parameter.values, parameter.values[-1] + 1]
    widths = [math.log(high / low) for low, high in pairwise(ends)]
    return np.array(widths) / math.log(ends[-1])


@pytest.mark.parametrize("tiles", TILES)
def test_log_uniform_choices_have_their_chances(tiles: str) -> None:
    space = MapSpace(CONV, PES, "full17", tiles)
    points = log_uniform(space, DRAWN, np.random.default_rng(0))
    for column, parameter in zip(points.T, space.parameters, strict=True):
        counts = np.bincount(column, minlength=parameter.choices)
        if parameter.choices > 1:
            assert chisquare(counts, DRAWN * expected(parameter)).pvalue > 1e-4, parameter.name


@given(spaces(), st.sampled_from(sorted(DRAWS)), st.integers(0, 2**32))
def test_every_draw_stays_in_the_space_and_repeats_itself(
    space: MapSpace, name: str, seed: int
) -> None:
    points, again = (DRAWS[name](space, 50, np.random.default_rng(seed)) for _ in range(2))
    assert points.dtype == np.int32
    assert points.shape == (50, len(space.sizes))
    assert ((points >= 0) & (points < space.sizes)).all()
    np.testing.assert_array_equal(points, again)


def test_extents_too_long_to_list_are_drawn_from() -> None:
    layer = Layer("GEMM", {"M": 2**30, "N": 1, "K": 2**30})
    space = MapSpace(layer, Hardware(num_pes=64))
    points = log_uniform(space, 2000, np.random.default_rng(0))
    column = [parameter.name for parameter in space.parameters].index("l2_tile_M")
    # Half of the draws are below the square root.
    assert 0.45 < np.mean(points[:, column] < 2**15) < 0.55
