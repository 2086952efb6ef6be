"""AccelForge's workloads: networks as Einsums, written as text or as projections."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
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

TENSORS = ("I", "W", "O")
"""Names of input, filter and output in the files written here."""

_WORD = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
_RANGE = re.compile(r"\s*0\s*<=\s*(\w+)\s*<\s*([0-9]{1,10})\s*")
_TERM = re.compile(r"\s*(?:([0-9]{1,9})\s*\*)?\s*([A-Za-z]\w*)\s*(?:\*\s*([0-9]{1,9}))?\s*")
_LONGEST_EINSUM = 2000
_BOUND = re.compile(r"\s*0\s*<=\s*(\w+)\s*<\s*([0-9]{1,18})\s*")
_ACCESS = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*")
_NAME = re.compile(r"[^\W\d]\w*")

Access = dict[str, Rank]
"""What each rank of a tensor is accessed by."""


def read_network(path: str | Path, workload: Plain) -> Network:
    """Return the network that the key ``workload`` of a file describes.

    Raises:
        NetworkError: no Einsum can be mapped.
    """
    collection = Collection(Path(path).stem)
    found = entries("workload", workload)
    bounds = _bounds(found.get("iteration_space_shape", found.get("shape", {})))
    sizes = entries("rank_sizes", found.get("rank_sizes", {}))
    repeats = _size(found.get("n_instances", "1"))
    for number, each in enumerate(items("einsums", found.get("einsums"))):
        einsum = {"einsum": each} if isinstance(each, str) else entries("an einsum", each)
        name = _written_by(einsum.get("einsum")) or f"einsum_{number}"
        name = scalar("the name of an einsum", einsum.get("name", name))
        times = _size(einsum.get("n_instances", "1")) * repeats
        collection.add(name, "Einsum", partial(_describe, einsum, bounds, sizes), times)
    return collection.network()


def _describe(
    einsum: Mapping[str, Plain], bounds: Mapping[str, int], sizes: Mapping[str, Plain]
) -> list[Work]:
    if _is_true(einsum, "is_copy_operation"):
        return []
    text = einsum.get("einsum")
    output, inputs = _from_text(text) if isinstance(text, str) else _from_accesses(einsum)
    known = {**sizes, **entries("rank_sizes", einsum.get("rank_sizes", {}))}
    extents = {
        variable: _size(known[name])
        for access in (output, *inputs)
        for name, rank in access.items()
        if name in known and list(rank.values()) == [1]
        for variable in rank
    }
    extents |= dict(bounds)
    extents |= _bounds(einsum.get("iteration_space_shape", einsum.get("shape", {})))
    return describe(extents, list(output.values()), [list(each.values()) for each in inputs])


def _bounds(shape: Plain) -> dict[str, int]:
    """Read bounds such as ``0 <= m < 128``."""
    found = {}
    for text in shape.values() if isinstance(shape, dict) else items("a shape", shape):
        bound = scalar("a bound", text)
        match = _BOUND.fullmatch(bound)
        if not match:
            raise LayerError(f"{quoted(bound)} is not of the form 0 <= VARIABLE < NUMBER")
        found[match[1]] = integer(match[2])
    return found


def _size(text: Plain) -> int:
    """Read a number, or a product of numbers such as ``96*128``."""
    return math.prod(integer(each.strip()) for each in scalar("a size", text).split("*"))


def _is_true(entry: Mapping[str, Plain], name: str) -> bool:
    return scalar(name, entry.get(name, "false")).lower() == "true"


def _written_by(text: Plain | None) -> str:
    match = _ACCESS.match(text) if isinstance(text, str) else None
    return match[1] if match else ""


def _from_text(text: str) -> tuple[Access, list[Access]]:
    """Read ``O[m, n] = A[m, k] * B[k, n]``."""
    if len(text) > _LONGEST_EINSUM:
        raise LayerError(f"an Einsum of more than {_LONGEST_EINSUM} characters")
    left, equals, right = text.partition("=")
    accesses = [_ACCESS.fullmatch(each) for each in (left, *re.split(r"\*(?![^\[]*\])", right))]
    if not equals or not all(accesses):
        raise LayerError(f"{quoted(text)} is not of the form O[m, n] = A[m, k] * B[k, n]")
    output, *inputs = [_ranks(match[2].split(",")) for match in accesses if match]
    return output, inputs


def _from_accesses(einsum: Mapping[str, Plain]) -> tuple[Access, list[Access]]:
    outputs: list[Access] = []
    inputs: list[Access] = []
    for each in items("tensor_accesses", einsum.get("tensor_accesses")):
        access = entries("a tensor access", each)
        projection = access.get("projection")
        if isinstance(projection, dict):
            ranks = {rank: _rank(scalar("a rank", text)) for rank, text in projection.items()}
        else:
            ranks = _ranks([scalar("a rank", text) for text in items("a projection", projection)])
        (outputs if _is_true(access, "output") else inputs).append(ranks)
    if len(outputs) != 1:
        raise LayerError(f"{len(outputs)} tensors are outputs; allowed: 1")
    return outputs[0], inputs


def _ranks(texts: list[str]) -> Access:
    """Read ``m`` (of rank M) or ``H: 2 * p + r`` (of rank H)."""
    found: Access = {}
    for text in texts:
        rank, colon, expression = text.partition(":")
        found[rank.strip() if colon else text.strip().upper()] = _rank(
            expression if colon else text
        )
    return found


def _rank(text: str) -> Rank:
    """Read a sum of variables times numbers, such as ``2 * p + r``."""
    terms: dict[str, int] = {}
    for term in text.split("+"):
        factors = [factor.strip() for factor in term.split("*")]
        names = [factor for factor in factors if _NAME.fullmatch(factor)]
        numbers = [factor for factor in factors if factor not in names]
        if len(names) != 1 or len(numbers) > 1:
            raise LayerError(f"{quoted(text)} is not a sum of variables times numbers")
        terms[names[0]] = integer(numbers[0]) if numbers else 1
    return terms


def rank_variable(dim: str) -> str:
    """Return what a dimension of a layer is called."""
    return rank_of(dim).lower()


def layer_name(layer: Layer) -> str:
    """Return the name of a layer, or what is left of it in letters and digits."""
    return f"layer_{_NOT_IN_NAMES.sub('_', layer.name)}".rstrip("_")


def workload_text(layer: Layer) -> str:
    """Write a layer."""
    lines = ["workload:", "  iteration_space_shape:"]
    for dim, extent in layer.loop_extents.items():
        lines.append(f"    {rank_variable(dim)}: 0 <= {rank_variable(dim)} < {extent}")
    lines.append(f"  bits_per_value: {{All: {_WORD}}}")
    lines.append(f"  einsums:\n  - name: {layer_name(layer)}\n    tensor_accesses:")
    for name, tensor in zip(TENSORS, tensors_of(layer), strict=True):
        axes = ", ".join(f"{_axis_name(axis)}: {_sum(axis)}" for axis in tensor.axes)
        output = ", output: true" if tensor.is_output else ""
        lines.append(f"    - {{name: {name}, projection: {{{axes}}}{output}}}")
    lines.append("    renames: {input: I, weight: W, output: O}")
    return "\n".join(lines) + "\n"


def _axis_name(axis: Axis) -> str:
    """Return the name of an axis: of rows and columns of the input, H and W."""
    if len(axis) == 1:
        return rank_of(axis[0][0])
    return {"P": "H", "Q": "W"}[rank_of(axis[0][0])]


def _sum(axis: Axis) -> str:
    return " + ".join(
        rank_variable(dim) if step == 1 else f"{step} * {rank_variable(dim)}" for dim, step in axis
    )


def workload_layer(part: Part) -> Workload:
    """Recognise a layer of ours in a ``workload``."""
    einsums = list(part["einsums"].items())
    if len(einsums) != 1:
        part.fail(f"has {len(einsums)} einsums; allowed: one")
    einsum = einsums[0]
    if "bits_per_value" in part:
        part["bits_per_value"].only("All")
        if part["bits_per_value"]["All"].integer() != _WORD:
            part.fail(f"values of other than {_WORD} bits; a word of ours has {_WORD}")
    tensors = [
        Tensor(
            access["name"].text(),
            tuple(_axes(access["projection"])),
            "output" in access and access["output"].text().lower() == "true",
        )
        for access in einsum["tensor_accesses"].items()
    ]
    extents = dict(_extents(part, einsum))
    for tensor in tensors:
        for rank in sorted(tensor.ranks - extents.keys()):
            if "rank_sizes" in part and rank.upper() in part["rank_sizes"]:
                extents[rank] = part["rank_sizes"][rank.upper()].integer()
    name = einsum["name"].text().removeprefix("layer").removeprefix("_")
    return workload_of(name, extents, tensors, part.where)


def _extents(part: Part, einsum: Part) -> Iterator[tuple[str, int]]:
    ranges: list[Part] = []
    if "iteration_space_shape" in part:
        shape = part["iteration_space_shape"]
        ranges += [shape[key] for key in shape.names()]
    if "iteration_space_shape" in einsum:
        ranges += einsum["iteration_space_shape"].items()
    for each in ranges:
        match = _RANGE.fullmatch(each.text())
        if match is None or int(match[2]) == 0:
            each.fail(f"{quoted(each.text())} is no range; allowed: such as 0 <= m < 32")
        yield match[1], int(match[2])


def _axes(part: Part) -> Iterator[Axis]:
    axes = part.items() if isinstance(part.value, list) else (part[key] for key in part.names())
    for axis in axes:
        terms = []
        for text in axis.text().split("+"):
            match = _TERM.fullmatch(text)
            if match is None or (match[1] and match[3]):
                axis.fail(f"{quoted(axis.text())} is no sum of ranks such as 2 * p + r")
            terms.append((match[2], int(match[1] or match[3] or 1)))
        yield tuple(terms)
