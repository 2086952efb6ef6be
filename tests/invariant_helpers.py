"""What the tests of the exact model's invariants (E8) share: words, drawn mappings, costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from row_reader import read_layer
from simulator import touched

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import all_layers
from maestro_env.workloads.layer import Layer

MACHINES = tuple(PRESETS.values())
DISTINCT = tuple({(x.operator, *x.extents.items(), x.stride): x for x in all_layers()}.values())


@dataclass(frozen=True)
class Words:
    """Distinct words that the layer's MACs touch (E1), and the MACs."""

    macs: int
    input: int
    filter: int
    output: int

    @property
    def all(self) -> int:
        return self.input + self.filter + self.output


def words_of(layer: Layer) -> Words:
    stride = list(layer.stride) if layer.is_convolution else None
    box = read_layer({"type": layer.operator, "dims": dict(layer.extents), "stride": stride}).box
    n, g, k, c, p, q, r, s = map(len, box)
    rows = len(touched(box[4], box[6], layer.stride[0]))
    columns = len(touched(box[5], box[7], layer.stride[1]))
    return Words(
        n * g * k * c * p * q * r * s,
        n * g * c * rows * columns,
        g * k * c * r * s,
        n * g * k * p * q,
    )


@st.composite
def points(draw: st.DrawFn, layers: tuple[Layer, ...] = DISTINCT) -> tuple[Problem, Mapping]:
    layer = draw(st.sampled_from(layers))
    hardware = draw(st.sampled_from(MACHINES))
    space = MapSpace(layer, hardware, draw(st.sampled_from(list(SCHEMAS))))
    point = [draw(st.integers(0, int(choices) - 1)) for choices in space.sizes]
    return Problem(space, "exact"), space.decode(np.array(point))


@st.composite
def deep(draw: st.DrawFn) -> tuple[Problem, Mapping]:
    """Mappings of one to four levels that no space holds: loops left out, R and S tiled."""
    problem, _ = draw(points())
    limits = dict(problem.layer.loop_extents)
    left = problem.hardware.num_pes
    levels = []
    for depth in range(draw(st.integers(1, 4))):
        cluster = draw(st.integers(1, min(left, 64))) if depth else None
        left //= cluster or 1
        order = draw(st.permutations(list(limits)))
        spatial = draw(st.sampled_from(order))
        loops = []
        for dim in order:
            if dim == spatial or draw(st.booleans()):
                limits[dim] = draw(st.integers(1, limits[dim]))
                loops.append(Loop(dim, limits[dim], limits[dim], dim == spatial))
        levels.append(Level(tuple(loops), cluster))
    return problem, Mapping(tuple(levels))


def cost_of(problem: Problem, mapping: Mapping, **changes: Any) -> Cost:
    """The cost, on changed hardware if so wished."""
    hardware = replace(problem.hardware, **changes)
    space = MapSpace(problem.layer, hardware, problem.space.schema)
    cost, status = Problem(space, "exact").evaluate_mapping(mapping)
    assert cost is not None, status
    return cost


def moved(cost: Cost) -> float:
    return cost.offchip_read_words + cost.offchip_write_words
