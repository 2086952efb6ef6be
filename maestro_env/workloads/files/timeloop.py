"""Timeloop's problems (version 0.4): one layer a file, given by projections."""

from __future__ import annotations

import re
from pathlib import Path

from maestro_env.base.errors import LayerError, quoted
from maestro_env.base.yaml_file import Plain, entries, items, scalar
from maestro_env.base.yaml_parts import Part
from maestro_env.workloads.affine import Rank, describe
from maestro_env.workloads.collection import Collection
from maestro_env.workloads.custom import integer
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.lowering import Work
from maestro_env.workloads.network import Network
from maestro_env.workloads.tensors import Axis, Tensor, Workload, rank_of, tensors_of, workload_of

_MOST_TERMS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.=,:-]+")


def read_network(path: str | Path, problem: Plain) -> Network:
    """Return the network of one layer that the key ``problem`` of a file describes.

    Dimensions are extents of loops: outputs, not inputs. Padding is unknown to Timeloop.

    Raises:
        NetworkError: no layer can say it.
    """
    collection = Collection(Path(path).stem)
    collection.add(Path(path).stem, "problem", lambda: _describe(problem))
    return collection.network()


def _describe(problem: Plain) -> list[Work]:
    found = entries("problem", problem)
    shape = entries("the problem's shape", found.get("shape"))
    given = entries("the problem's instance", found.get("instance", problem))
    names = [scalar("a dimension", name) for name in items("dimensions", shape.get("dimensions"))]
    extents = {name: _number(name, given.get(name)) for name in names}
    coefficients = {}
    for each in items("coefficients", shape.get("coefficients", [])):
        entry = entries("a coefficient", each)
        name = scalar("the name of a coefficient", entry.get("name"))
        coefficients[name] = _number(name, given.get(name, entry.get("default", "1")))
    outputs: list[list[Rank]] = []
    inputs: list[list[Rank]] = []
    for each in items("data_spaces", shape.get("data_spaces", shape.get("data-spaces"))):
        space = entries("a data space", each)
        ranks = items("a projection", space.get("projection"))
        access = [_rank(rank, coefficients) for rank in ranks]
        written = space.get("read_write", space.get("read-write", "false"))
        is_output = scalar("read_write", written).lower() == "true"
        (outputs if is_output else inputs).append(access)
    if len(outputs) != 1:
        raise LayerError(f"{len(outputs)} data spaces are read_write; allowed: 1")
    return describe(extents, outputs[0], inputs)


def _rank(rank: Plain, coefficients: dict[str, int]) -> Rank:
    """Read a sum of products, such as ``[[R, Wdilation], [P, Wstride]]``."""
    if isinstance(rank, str):
        return {rank: 1}
    terms: dict[str, int] = {}
    summands = items("a sum of products", rank)
    if len(summands) > _MOST_TERMS:
        raise LayerError(f"a sum of {len(summands)} products; allowed: {_MOST_TERMS}")
    for term in summands:
        product = items("a product", term)
        if not 1 <= len(product) <= _MOST_TERMS:
            raise LayerError(f"a product of {len(product)} factors; allowed: 1 to {_MOST_TERMS}")
        variable, *factors = product
        coefficient = 1
        for factor in factors:
            name = scalar("a coefficient", factor)
            if name not in coefficients:
                raise LayerError(f"unknown coefficient {quoted(name)}")
            coefficient *= coefficients[name]
        terms[scalar("a dimension", variable)] = coefficient
    return terms


def _number(name: str, value: Plain | None) -> int:
    if not isinstance(value, str):
        raise LayerError(f"{quoted(name)} has no number in the problem's instance")
    return integer(value, f"{quoted(name)}: ")


def problem_text(layer: Layer) -> str:
    """Write a layer."""
    tensors = tensors_of(layer)
    extents = {rank_of(dim): extent for dim, extent in layer.loop_extents.items()}
    lines = ["problem:", "  version: 0.4", "  shape:"]
    lines.append(f"    name: '{_NOT_IN_NAMES.sub('_', layer.name) or layer.operator}'")
    lines.append(f"    dimensions: [{', '.join(extents)}]")
    lines.append("    data_spaces:")
    for tensor in tensors:
        axes = ", ".join(
            "[" + ", ".join(f"[{rank_of(dim)}{_factor(step)}]" for dim, step in axis) + "]"
            for axis in tensor.axes
        )
        output = ", read_write: true" if tensor.is_output else ""
        lines.append(f"    - {{name: {tensor.name}, projection: [{axes}]{output}}}")
    strides = [step for axis in tensors[0].axes for _, step in axis if step > 1]
    if strides:
        named = ", ".join(f"{{name: stride{step}, default: {step}}}" for step in sorted({*strides}))
        lines.append(f"    coefficients: [{named}]")
    listed = ", ".join(f"{rank}: {extent}" for rank, extent in extents.items())
    lines.append(f"  instance: {{{listed}}}")
    return "\n".join(lines) + "\n"


def _factor(step: int) -> str:
    return "" if step == 1 else f", stride{step}"


def problem_layer(part: Part) -> Workload:
    """Recognise a layer of ours in a ``problem``."""
    shape, instance = part["shape"], part["instance"]
    ranks = shape["dimensions"].texts()
    if any(not re.fullmatch("[A-Za-z]", rank) for rank in ranks):
        shape.fail("a dimension's name has more than one letter")
    extents = {rank: instance[rank].integer() for rank in ranks}
    coefficients: dict[str, int] = {}
    for each in shape["coefficients"].items() if "coefficients" in shape else ():
        name = each["name"].text()
        given = instance[name] if name in instance else each["default"]
        coefficients[name] = given.integer()
    tensors = [
        Tensor(
            space["name"].text(),
            tuple(_axis(axis, coefficients) for axis in space["projection"].items()),
            "read_write" in space and space["read_write"].text().lower() == "true",
        )
        for space in shape["data_spaces"].items()
    ]
    name = shape["name"].text() if "name" in shape else ""
    return workload_of(name, extents, tensors, part.where)


def _axis(part: Part, coefficients: dict[str, int]) -> Axis:
    terms = []
    for term in part.items():
        names = term.texts()
        if len(names) not in (1, 2) or not {*names[1:]} <= coefficients.keys():
            term.fail("is no rank, nor a rank and a coefficient")
        terms.append((names[0], coefficients[names[1]] if names[1:] else 1))
    return tuple(terms)
