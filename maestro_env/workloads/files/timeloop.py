"""Timeloop's problems (version 0.4): one layer a file, given by projections."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from maestro_env.base.errors import quoted
from maestro_env.base.yaml_file import Part
from maestro_env.workloads.affine import (
    Axis,
    Loops,
    Tensor,
    Workload,
    describe,
    rank_of,
    recognise,
    tensors_of,
)
from maestro_env.workloads.collection import Collection
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Network

_MOST_FACTORS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.=,:-]+")


def problem_network(problem: Part, name: str) -> Network:
    """Return the network of one layer that the key ``problem`` of a file describes.

    Dimensions are extents of loops: outputs, not inputs. Padding is unknown to Timeloop.

    Raises:
        NetworkError: no layer can say it.
    """
    collection = Collection(name)
    collection.add(name, "problem", lambda: describe(_loops(problem)))
    return collection.network()


def problem_layer(problem: Part) -> Workload:
    """Recognise a layer in a ``problem``."""
    return recognise(_loops(problem), problem.where)


def _loops(problem: Part) -> Loops:
    shape = problem["shape"]
    instance = problem.get("instance", problem.value)
    extents = {name: instance[name].integer() for name in shape["dimensions"].texts()}
    coefficients = {}
    for each in shape.get("coefficients", []).items():
        name = each["name"].text()
        coefficients[name] = instance.get(name, each.get("default", "1").value).integer()
    spaces = shape["data-spaces" if "data-spaces" in shape else "data_spaces"]
    tensors = [
        Tensor(
            space.get("name", "a tensor").text(),
            tuple(_axis(axis, coefficients) for axis in space["projection"].items()),
            space.is_true("read_write") or space.is_true("read-write"),
        )
        for space in spaces.items()
    ]
    return Loops(shape.get("name", "").text(), extents, tensors)


def _axis(part: Part, coefficients: Mapping[str, int]) -> Axis:
    """Read a rank, or a sum of products such as ``[[R, Wdilation], [P, Wstride]]``."""
    if isinstance(part.value, str):
        return {part.value: 1}
    axis: dict[str, int] = {}
    for term in part.items():
        rank, *factors = term.texts() or [""]
        if not rank or len(factors) > _MOST_FACTORS:
            term.fail(f"is no rank, nor a rank and up to {_MOST_FACTORS} coefficients")
        for factor in factors:
            if factor not in coefficients:
                term.fail(f"unknown coefficient {quoted(factor)}")
        step = math.prod(coefficients[factor] for factor in factors)
        axis[rank] = axis.get(rank, 0) + step
    return axis


def problem_text(layer: Layer) -> str:
    """Write a layer."""
    tensors = tensors_of(layer)
    extents = {rank_of(dim): extent for dim, extent in layer.loop_extents.items()}
    lines = ["problem:", "  version: 0.4", "  shape:"]
    lines.append(f"    name: '{_NOT_IN_NAMES.sub('_', layer.name) or layer.operator}'")
    lines.append(f"    dimensions: [{', '.join(extents)}]")
    lines.append("    data_spaces:")
    for tensor in tensors:
        axes = ", ".join(f"[{', '.join(map(_term, axis.items()))}]" for axis in tensor.axes)
        output = ", read_write: true" if tensor.is_output else ""
        lines.append(f"    - {{name: {tensor.name}, projection: [{axes}]{output}}}")
    strides = sorted({step for axis in tensors[0].axes for step in axis.values() if step > 1})
    if strides:
        named = ", ".join(f"{{name: stride{step}, default: {step}}}" for step in strides)
        lines.append(f"    coefficients: [{named}]")
    listed = ", ".join(f"{rank}: {extent}" for rank, extent in extents.items())
    lines.append(f"  instance: {{{listed}}}")
    return "\n".join(lines) + "\n"


def _term(term: tuple[str, int]) -> str:
    dim, step = term
    return f"[{rank_of(dim)}]" if step == 1 else f"[{rank_of(dim)}, stride{step}]"
