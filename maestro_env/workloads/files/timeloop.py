"""Timeloop's problems (version 0.4): one layer a file, given by projections."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from maestro_env.base.errors import LayerError, close_matches, quoted
from maestro_env.base.yaml_file import Part, read_yaml
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
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Collection, Network

_MOST_FACTORS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.=,:-]+")

_CNN_LAYER = """
dimensions: [R, S, P, Q, C, K, N]
coefficients: [{name: Wstride}, {name: Hstride}, {name: Wdilation}, {name: Hdilation}]
data_spaces:
- {name: Weights, projection: [C, K, R, S]}
- {name: Inputs, projection: [N, C, [[R, Wdilation], [P, Wstride]], [[S, Hdilation], [Q, Hstride]]]}
- {name: Outputs, projection: [N, K, Q, P], read_write: true}
"""
"""The shape that Timeloop knows by name, and assumes where none is given."""

_INPUT_SIZES = ("H", "W", "Hpad", "Wpad")
_DENSE = "densities: a layer is read as dense"
_OF_INPUTS = "H, W, Hpad and Wpad are passed over: outputs are P and Q, padding is unknown"
_UNDILATED = "a dilation of 0 is read as 1, none"
_ASSUMED = "no shape is given: read as cnn_layer, as Timeloop does"


def problem_network(problem: Part, name: str) -> Network:
    """Return the network of one layer that the key ``problem`` of a file describes.

    Dimensions are extents of loops: outputs, not inputs. Padding is unknown to Timeloop.

    Raises:
        LayerError: no layer can say it.
    """
    collection = Collection(name)
    loops = _loops(problem)
    try:
        works = describe(loops)
    except LayerError as error:
        raise LayerError(f"{problem.where}: {error}") from None
    collection.add(name, "problem", lambda: works)
    return collection.network()


def problem_layer(problem: Part) -> Workload:
    """Recognise a layer in a ``problem``."""
    return recognise(_loops(problem), problem.where)


def _loops(problem: Part) -> Loops:
    shape = _shape(problem)
    shape.only("name", "dimensions", "coefficients", "data_spaces", "data-spaces")
    instance = problem
    if "instance" in problem:
        problem.only("version", "shape", "instance")
        instance = problem["instance"]
    dims = shape["dimensions"].texts()
    coefficients = {}
    for each in shape.get("coefficients", []).items():
        each.only("name", "default")
        name = each["name"].text()
        value = instance.get(name, each.get("default", "1").value)
        if value.value == "0" and name.lower().endswith("dilation"):
            problem.note(_UNDILATED)
            coefficients[name] = 1
        else:
            coefficients[name] = value.integer()
    spaces = shape[shape.one_of("data_spaces", "data-spaces")]
    used: set[str] = set()
    tensors = [_tensor(space, coefficients, used) for space in spaces.items()]
    _check_names(instance, (*dims, *(name for name in coefficients if name in used)))
    extents = {name: instance[name].integer() for name in dims}
    return Loops(shape.get("name", "").text(), extents, tensors)


def _shape(problem: Part) -> Part:
    """Return the shape, which may be given by its name."""
    if "shape" not in problem:
        problem.note(_ASSUMED)
    shape = problem.get("shape", "cnn_layer")
    if not isinstance(shape.value, str):
        return shape
    if shape.value.replace("-", "_") != "cnn_layer":
        shape.fail(
            f"unknown shape {quoted(shape.value)}; allowed: cnn_layer, or name, dimensions and "
            "data_spaces written out"
        )
    return read_yaml(_CNN_LAYER, "cnn_layer", problem.refuse)


def _check_names(instance: Part, names: Sequence[str]) -> None:
    """Refuse a number that nothing uses, but 1; what is known and passed over is noted."""
    used = {*names, "shape", "version"}
    for key, part in instance.named().items():
        if key in used or part.value == "1" or not part.value:
            continue
        if key == "densities":
            part.note(_DENSE)
        elif key in _INPUT_SIZES and {"P", "Q"} <= used:
            part.note(_OF_INPUTS)
        else:
            hint = close_matches(key, names)
            part.fail(f"nothing here uses {key}; {hint}allowed: {', '.join(names)}")


def _tensor(space: Part, coefficients: Mapping[str, int], used: set[str]) -> Tensor:
    """Read a tensor, and add to ``used`` what coefficients its projection has."""
    space.only("name", "projection", "read_write", "read-write")
    return Tensor(
        space.get("name", "a tensor").text(),
        tuple(_axis(axis, coefficients, used) for axis in space["projection"].items()),
        space.is_true(space.one_of("read_write", "read-write")),
    )


def _axis(part: Part, coefficients: Mapping[str, int], used: set[str]) -> Axis:
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
        used.update(factors)
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
