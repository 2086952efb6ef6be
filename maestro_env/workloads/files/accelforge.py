"""AccelForge's workloads: networks as Einsums, written as text or as projections."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from maestro_env.base.errors import LayerError, close_matches, quoted
from maestro_env.base.yaml_blocks import YamlBlock
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
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.lowering import Work
from maestro_env.workloads.network import Collection, Network

TENSORS = ("I", "W", "O")
"""Names of input, filter and output in the files written here."""

_SIZES = ("iteration_space_shape", "shape", "rank_sizes")
_IGNORED = ("bits_per_value", "persistent_tensors")
_KEYS = ("name", "einsum", "tensor_accesses", "n_instances", "is_copy_operation", "renames")
_ACCESS_KEYS = (
    *("name", "projection", "output"),
    *("bits_per_value", "persistent", "backing_storage_size_scale"),
)
"""What these versions have; others are refused."""

_WORD = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST_EINSUM = 2000
_BOUND = re.compile(r"\s*0\s*<=\s*(\w+)\s*<\s*([0-9]{1,18})\s*")
_ACCESS = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*")
_TERM = re.compile(r"\s*(?:([0-9]{1,9})\s*\*)?\s*([^\W\d]\w*)\s*(?:\*\s*([0-9]{1,9}))?\s*")

_Access = tuple[str, list[tuple[str, Axis]], bool]
"""A tensor: its name, its ranks and what each is accessed by, and whether it is the output."""


def workload_network(workload: Part, name: str) -> Network:
    """Return the network that the key ``workload`` of a file describes.

    Raises:
        NetworkError: no Einsum can be mapped.
    """
    collection = Collection(name)
    for key in _IGNORED:
        if key in workload:
            workload.note(f"{key} is passed over: it changes no MACs")
    bounds, sizes = _bounds(workload), _sizes(workload)
    repeats = workload.get("n_instances", "1").integer()
    for number, einsum in enumerate(_einsums(workload)):
        match = _ACCESS.match(einsum.get("einsum", "").text())
        default = match[1] if match else f"einsum_{number}"
        times = repeats * einsum.get("n_instances", "1").integer()
        work = partial(_describe, einsum, bounds, sizes)
        collection.add(einsum.get("name", default).text(), "Einsum", work, times)
    return collection.network()


def workload_layer(workload: Part) -> Workload:
    """Recognise a layer in a ``workload`` of one Einsum."""
    einsums = _einsums(workload)
    if len(einsums) != 1:
        workload.fail(f"has {len(einsums)} einsums; allowed: one")
    return recognise(_loops(einsums[0], _bounds(workload), _sizes(workload)), workload.where)


def value_bits(workload: Part, default: int) -> int:
    """Return the bits of all values in a ``workload``."""
    words = workload.get("bits_per_value", YamlBlock())
    words.only("All")
    return words.get("All", str(default)).integer()


def _einsums(workload: Part) -> list[Part]:
    """Return the Einsums of a list, and of lists in it."""
    workload.only("version", "einsums", "n_instances", *_SIZES, *_IGNORED)
    einsums: list[Part] = []
    for each in workload["einsums"].items():
        einsums += map(_as_block, each.items() if isinstance(each.value, list) else [each])
    _check_names(workload, einsums)
    for each in einsums:
        _check_names(each, [each])
    return einsums


def _as_block(einsum: Part) -> Part:
    """Return an Einsum written as one text like one with a key."""
    if not isinstance(einsum.value, str):
        einsum.only(*_KEYS, *_SIZES)
        for access in einsum.get("tensor_accesses", []).items():
            access.only(*_ACCESS_KEYS)
        return einsum
    block = YamlBlock(line=einsum.line)
    block["einsum"] = einsum.value
    return replace(einsum, value=block)


def _describe(einsum: Part, bounds: Mapping[str, int], sizes: dict[str, Part]) -> Sequence[Work]:
    return () if einsum.is_true("is_copy_operation") else describe(_loops(einsum, bounds, sizes))


def _check_names(part: Part, einsums: Sequence[Part]) -> None:
    """Refuse sizes and bounds in a part of what its Einsums do not have, but of 1."""
    try:
        axes = [each for einsum in einsums for _, ranks, _ in _accesses(einsum) for each in ranks]
    except LayerError:  # One is left out, and what it has is not known.
        return
    ranks, variables = {rank for rank, _ in axes}, {each for _, axis in axes for each in axis}
    sizes = {rank: 1 if each.value == "1" else 2 for rank, each in _sizes(part).items()}
    for kind, given, known in (("rank", sizes, ranks), ("variable", _bounds(part), variables)):
        for name, size in given.items():
            if size > 1 and name not in known:
                hint = close_matches(name, known)
                allowed = ", ".join(sorted(known))
                part.fail(f"no tensor has the {kind} {quoted(name)}; {hint}allowed: {allowed}")


def _loops(einsum: Part, bounds: Mapping[str, int], sizes: dict[str, Part]) -> Loops:
    known = ChainMap(_sizes(einsum), sizes)
    accesses = [*_accesses(einsum)]
    name, own = einsum.get("name", "").text(), _bounds(einsum)
    limits = [
        (variable, known[rank].integer())
        for _, ranks, _ in accesses
        for rank, axis in ranks
        if rank in known and list(axis.values()) == [1]
        for variable in axis
    ]
    tensors = [
        Tensor(name, tuple(axis for _, axis in ranks), is_output)
        for name, ranks, is_output in accesses
    ]
    indexed = {variable for tensor in tensors for variable in tensor.variables}
    limits += [(each, limit) for each, limit in bounds.items() if each in indexed]
    # All limits hold at once.
    extents: dict[str, int] = {}
    for variable, limit in (*limits, *own.items()):
        extents[variable] = min(limit, extents.get(variable, limit))
    for rank, axis in (each for _, ranks, _ in accesses for each in ranks):
        if rank in known and axis.keys() <= extents.keys():
            reach = 1 + sum(step * (extents[each] - 1) for each, step in axis.items())
            if known[rank].integer() < reach:
                size = known[rank].integer()
                einsum.note(
                    f"the rank {rank} is {size}, but its variables reach {reach}, which counts"
                )
    return Loops(name.removeprefix("layer").removeprefix("_"), extents, tensors)


def _sizes(part: Part) -> dict[str, Part]:
    return part.get("rank_sizes", YamlBlock()).named()


def _bounds(part: Part) -> dict[str, int]:
    """Read bounds such as ``0 <= m < 128``."""
    shape = part.get(part.one_of("iteration_space_shape", "shape"), [])
    found = {}
    for each in shape.items() if isinstance(shape.value, list) else shape.named().values():
        match = _BOUND.fullmatch(each.text())
        if not match or int(match[2]) == 0:
            each.fail(f"{quoted(each.text())} is not of the form 0 <= VARIABLE < NUMBER")
        found[match[1]] = int(match[2])
    return found


def _accesses(einsum: Part) -> Iterator[_Access]:
    is_text = einsum.one_of("tensor_accesses", "einsum") == "einsum"
    return _from_text(einsum) if is_text else _from_accesses(einsum)


def _from_text(einsum: Part) -> Iterator[_Access]:
    """Read ``O[m, n] = A[m, k] * B[k, n]``."""
    part = einsum["einsum"]
    text = part.text()
    if len(text) > _LONGEST_EINSUM:
        part.fail(f"an Einsum of more than {_LONGEST_EINSUM} characters")
    left, equals, right = text.partition("=")
    for number, each in enumerate((left, *re.split(r"\*(?![^\[]*\])", right))):
        match = _ACCESS.fullmatch(each)
        if not equals or not match:
            part.fail(f"{quoted(text)} is not of the form O[m, n] = A[m, k] * B[k, n]")
        yield match[1], [_rank(rank, part) for rank in match[2].split(",")], number == 0


def _from_accesses(einsum: Part) -> Iterator[_Access]:
    for access in einsum["tensor_accesses"].items():
        projection = access["projection"]
        if isinstance(projection.value, list):
            ranks = [_rank(each.text(), each) for each in projection.items()]
        else:
            ranks = [
                (rank, axis_of(each.text(), each)) for rank, each in projection.named().items()
            ]
        yield access.get("name", "a tensor").text(), ranks, access.is_true("output")


def _rank(text: str, part: Part) -> tuple[str, Axis]:
    """Read ``m`` (of rank M) or ``H: 2 * p + r`` (of rank H)."""
    rank, colon, expression = text.partition(":")
    return rank.strip() if colon else text.strip().upper(), axis_of(expression or text, part)


def axis_of(text: str, part: Part) -> Axis:
    """Read a sum of variables times numbers, such as ``2 * p + r``."""
    axis: dict[str, int] = {}
    for term in text.split("+"):
        match = _TERM.fullmatch(term)
        if match is None or (match[1] and match[3]):
            part.fail(f"{quoted(text)} is not a sum of variables such as 2 * p + r")
        axis[match[2]] = axis.get(match[2], 0) + int(match[1] or match[3] or 1)
    return axis


def rank_variable(dim: str) -> str:
    """Return what a dimension of a layer is called."""
    return rank_of(dim).lower()


def layer_name(layer: Layer) -> str:
    """Return the name of a layer, or what is left of it in letters and digits."""
    return f"layer_{_NOT_IN_NAMES.sub('_', layer.name)}".rstrip("_")


def workload_text(layer: Layer, word_bits: int = _WORD) -> str:
    """Write a layer, and the bits of its values."""
    lines = ["workload:", "  iteration_space_shape:"]
    for dim, extent in layer.loop_extents.items():
        lines.append(f"    {rank_variable(dim)}: 0 <= {rank_variable(dim)} < {extent}")
    lines.append(f"  bits_per_value: {{All: {word_bits}}}")
    lines.append(f"  einsums:\n  - name: {layer_name(layer)}\n    tensor_accesses:")
    for name, tensor in zip(TENSORS, tensors_of(layer), strict=True):
        axes = ", ".join(map(_written, tensor.axes))
        output = ", output: true" if tensor.is_output else ""
        lines.append(f"    - {{name: {name}, projection: {{{axes}}}{output}}}")
    lines.append("    renames: {input: I, weight: W, output: O}")
    return "\n".join(lines) + "\n"


def _written(axis: Axis) -> str:
    """Write an axis; those of rows and columns of the input are called H and W."""
    rank = rank_of(next(iter(axis)))
    name = rank if len(axis) == 1 else {"P": "H", "Q": "W"}[rank]
    terms = (("" if step == 1 else f"{step} * ") + rank_variable(dim) for dim, step in axis.items())
    return f"{name}: {' + '.join(terms)}"
