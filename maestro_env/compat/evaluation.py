"""Evaluates mapping files as the MAESTRO binary does, and rows of ``--jsonl`` under any cost model.

A row of the models ``maestro`` and ``exact`` has ``type``, ``stride`` ([of Y, of X] or null),
``dims`` (extents by name), ``dataflow`` (directives as they stand in a mapping file) and ``hw``
(``num_pes``, ``noc_bw``, ``hop_latency``, ``offchip_bw``, ``simd``; the exact model also reads
``l1``, ``l2``, ``hops``, ``offchip_cost`` and, if given, ``mac_nj``, ``l1_macs``, ``l2_macs`` and
``noc_macs``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from maestro_env import _native
from maestro_env.base.checks import MAX_INT, require_integer, require_type
from maestro_env.base.m_file import (
    ENDS,
    MAPS,
    OPERATORS,
    Directive,
    NetworkText,
    ReferenceDeath,
    parse,
    tokens,
)

_NOCS = 4
_STRIDED = ("Y", "X")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*'?")
_MAX = 2**63 - 1
_DIGITS = len(str(MAX_INT)) + 1
_MALFORMED: Directive = ("malformed", "", 1, 1)
# An operator that the model lacks; impossible hardware is reported first.
_WITHOUT_LAYER = "TRCONV"
_TENSORS = {"I": "input", "W": "filter", "O": "output"}
_COUNTS = ("tensor", "parent", "child", "parent_words", "child_words")


def equal_nocs(bandwidth: int, latency: int) -> list[tuple[int, int]]:
    """Return networks-on-chip that are the same on every level."""
    return [(bandwidth, latency)] * _NOCS


def run(
    network: NetworkText,
    nocs: list[tuple[int, int]],
    num_pes: int,
    simd_lanes: int,
    offchip_bw: int,
) -> list[list[str]]:
    """Return the CSV cells of every layer, without the names, or raise a ``ReferenceDeath``.

    Networks-on-chip are bandwidth (words per cycle) and latency (cycles) of each level, the
    innermost level first; ``offchip_bw`` is in words per cycle.
    """
    try:
        layers = [
            _native.Layer(each.operator, each.extents, each.strides) for each in network.layers
        ]
    except ValueError as error:
        raise ReferenceDeath("exit", str(error)) from None
    mappings = [each.directives for each in network.layers]
    status, rows = _native.run_network(layers, mappings, num_pes, simd_lanes, offchip_bw, nocs)
    if status != "ok":
        kind = status.removeprefix("reference_")
        raise ReferenceDeath(kind, f"the MAESTRO binary {ENDS[status]} on this mapping")
    return rows


@dataclass(frozen=True)
class Row:
    """One row: strides and extents by name, the directives as one text, ``hw`` as given."""

    operator: str
    dims: dict[str, int]
    strides: dict[str, int]
    dataflow: str
    hw: dict[str, Any]

    @classmethod
    def read(cls, row: dict[str, Any]) -> Row:
        """Read a row; a key may be missing (``KeyError``) or its value wrong (``ValueError``)."""
        operator, dims, flow, hw = row["type"], row["dims"], row["dataflow"], row["hw"]
        require_type("type", operator, str, "such as CONV")
        require_type("dims", dims, dict, "names to extents")
        for name in dims:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"dims has the name {name!r}; allowed: a letter, letters, digits, '"
                )
        extents = {name: int32(f"dims.{name}", extent) for name, extent in dims.items()}
        require_type("dataflow", flow, list, "of directives")
        for each in flow:
            require_type("a directive", each, str, "such as TemporalMap(1,1) K;")
        require_type("hw", hw, dict, "names to numbers")
        return cls(operator, extents, _strides(row["stride"]), "\n".join(flow), hw)

    def hardware(self, name: str) -> int:
        """Return an integer of ``hw``."""
        return int32(f"hw.{name}", self.hw[name])


def int32(name: str, value: object) -> int:
    """Return an integer as the binary's options and files have them."""
    return require_integer(name, value, ValueError, -(2**31))


def _strides(stride: object) -> dict[str, int]:
    if stride is None:
        return {}
    if not isinstance(stride, list) or len(stride) != len(_STRIDED):
        raise ValueError(f"stride is {stride!r}; allowed: null or [of Y, of X]")
    return {axis: int32("stride", each) for axis, each in zip(_STRIDED, stride, strict=True)}


def evaluate_maestro(given: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a row as the binary does: return ``out``, its CSV cells by header, or ``error``."""
    row = Row.read(given)
    nocs = equal_nocs(row.hardware("noc_bw"), row.hardware("hop_latency"))
    sizes = [row.hardware(name) for name in ("num_pes", "simd", "offchip_bw")]
    try:
        (cells,) = run(parse(_m_file(row)), nocs, *sizes)
    except ReferenceDeath as death:
        return {"error": {"exit": death.code, "message": str(death)}}
    return {"out": dict(zip(_CELL_NAMES, cells, strict=True))}


def _m_file(row: Row) -> str:
    stride = f"Stride {{ {_pairs(row.strides)} }}" if row.strides else ""
    return (
        f"Network n {{ Layer l {{ Type: {row.operator} {stride}\n"
        f"Dimensions {{ {_pairs(row.dims)} }}\nDataflow {{\n{row.dataflow}\n}} }} }}"
    )


def _pairs(values: dict[str, int]) -> str:
    return " ".join(f"{name}: {value}" for name, value in values.items())


def _cell_names() -> list[str]:
    """Headers without network and layer name; the second of two equal ones is the maximum."""
    names = [name.strip() for name in _native.CSV_HEADER.split(",")][2:]
    twice = "Compute Delay (Min)"
    names[names.index(twice, names.index(twice) + 1)] = "Compute Delay (Max)"
    return names


_CELL_NAMES = _cell_names()


def evaluate_exact(given: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a row under the exact model: return ``status`` and, if there are results, ``out``.

    The results have the names of the model's specification (E5, E6); integers are exact.
    """
    row = Row.read(given)
    operator, dims = row.operator, row.dims
    if operator == "FC":  # It is computed as a convolution (E1).
        missing = [name for name in ("Y", "X", "R", "S") if not {name, f"{name}'"} & dims.keys()]
        operator, dims = "CONV", {**dims, **dict.fromkeys(missing, 1)}
    layer = _native.Layer(
        operator if operator in OPERATORS else _WITHOUT_LAYER,
        list(dims.items()),
        list(row.strides.items()) if operator != "GEMM" else [],
    )
    directives = list(_directives(row.dataflow, _sizes(operator, dims, row.strides)))
    status, results = _native.exact_report(layer, directives, _hardware(row))
    return {"status": status} if results is None else {"status": status, "out": results}


def _sizes(operator: str, dims: dict[str, int], strides: dict[str, int]) -> dict[str, int]:
    """Return the extents ``Sz`` refers to: those given, those left out, every form of an axis."""
    if operator == "GEMM":
        return dims
    left_out = {"N": 1, "K": 1} if operator == "DSCONV" else {"N": 1}
    sizes = {**left_out, **dims}
    for axis, window, letter in (("Y", "R", "P"), ("X", "S", "Q")):
        stride, output = max(strides.get(axis, 1), 1), f"{axis}'"
        if window not in dims:
            continue
        if axis in dims:
            sizes[output] = (dims[axis] - dims[window]) // stride + 1
        elif output in dims:
            sizes[axis] = (dims[output] - 1) * stride + dims[window]
        if output in sizes:
            sizes[letter] = sizes[output]
    return sizes


def _directives(text: str, sizes: dict[str, int]) -> Iterator[Directive]:
    """Yield the directives of a dataflow; the first ill-formed one is the last."""
    words = (token for _, token in tokens(text))

    def number() -> int:
        token = next(words)
        if token == "Sz":
            return sizes[next(words)]
        if not (token.isascii() and token.isdigit()):
            raise ValueError(token)
        # No extent is larger, so neither need a tile be.
        return min(int(token.lstrip("0")[:_DIGITS] or "0"), MAX_INT)

    for kind in words:
        try:
            if kind == "Cluster":
                size = number()
                yield (kind, "", size, size) if next(words) in ("P", "L") else _MALFORMED
            elif kind in MAPS:
                size, offset = number(), number()
                yield kind, next(words), size, offset
            else:
                yield _MALFORMED
        except (StopIteration, KeyError, ValueError):
            yield _MALFORMED
            return


def _hardware(row: Row) -> _native.Hardware:
    hops = int32("hw.hops", row.hw.get("hops", 1))
    latency = row.hardware("hop_latency")
    return _native.Hardware(
        num_pes=row.hardware("num_pes"),
        simd_lanes=row.hardware("simd"),
        noc_bw=row.hardware("noc_bw"),
        # A network without hops is impossible: -1 is refused.
        noc_latency=hops * latency if hops >= 1 else -1,
        offchip_bw=row.hardware("offchip_bw"),
        l1_bytes=_capacity("hw.l1", row.hw["l1"]),
        l2_bytes=_capacity("hw.l2", row.hw["l2"]),
        offchip_macs=_energy("hw.offchip_cost", row.hw.get("offchip_cost", 0.0)),
        **_energies(row),
    )


def _energies(row: Row) -> dict[str, Any]:
    names = [name for name in ("mac_nj", "l1_macs", "l2_macs", "noc_macs") if name in row.hw]
    return {name: _energy(f"hw.{name}", row.hw[name]) for name in names}


def _energy(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError(f"{name} is {given!r}; allowed: numbers")
    # An integer may be too large for a double; what is out of range is refused as -1.
    return given if 0 <= given <= _native.MAX_ENERGY else -1.0


def _capacity(name: str, given: object) -> int | None:
    return None if given is None else require_integer(name, given, ValueError, -_MAX, _MAX)


def evaluate_hierarchy(row: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a row on any memories: return ``traffic``, or ``status`` for a mapping without.

    It has ``layer`` (``dims`` by N G K C P Q R S, ``stride`` and ``dilation`` of rows and columns),
    ``accelerator`` (elements, outermost first: ``memory`` and ``keep``, letters of I, W, O; or
    ``fanout`` and perhaps ``size``) and ``mapping`` (a list of loops [dim, tile] an element).
    """
    # They need numpy, which rows of the other models should not wait for.
    from maestro_env.accelerators.hierarchy import Hierarchy
    from maestro_env.hierarchy.evaluation import HierarchyEvaluator
    from maestro_env.hierarchy.shape import Shape

    layer, elements = row["layer"], row["accelerator"]
    require_type("layer", layer, dict, "with dims")
    require_type("accelerator", elements, list, "of elements")
    shape = Shape(layer["dims"], layer.get("stride", (1, 1)), layer.get("dilation", (1, 1)))
    evaluator = HierarchyEvaluator(shape, Hierarchy([_element(each) for each in elements]))
    cost, status = evaluator.evaluate(row["mapping"])
    if cost is None:
        return {"status": status}
    return {"traffic": [{name: getattr(each, name) for name in _COUNTS} for each in cost.traffic]}


def _element(given: Any) -> Any:
    from maestro_env.accelerators.elements import FanoutElement, MemoryElement

    require_type("an element", given, dict, "with memory or fanout")
    if "fanout" in given:
        return FanoutElement(name=given["fanout"], size=given.get("size"))
    keep = given["keep"]
    require_type("keep", keep, str, "letters of I, W, O")
    return MemoryElement(name=given["memory"], keeps=[_TENSORS.get(each, each) for each in keep])
