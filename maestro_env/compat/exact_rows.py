"""Evaluates one row under the exact model: ``status`` and, where there are results, ``out``.

The results have the names of the model's specification (E5, E6); integers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from maestro_env import _native
from maestro_env.base.checks import MAX_INT, require_integer
from maestro_env.base.m_file import MAPS, OPERATORS, Directive, tokens
from maestro_env.compat.row_format import Row, int32

_MAX = 2**63 - 1
_DIGITS = len(str(MAX_INT)) + 1
_MALFORMED: Directive = ("malformed", "", 1, 1)
# An operator that the model lacks; impossible hardware is reported first.
_WITHOUT_LAYER = "TRCONV"


def evaluate(given: dict[str, Any]) -> dict[str, Any]:
    """Return ``{"status": name}`` and, where there are results, ``"out"``."""
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
