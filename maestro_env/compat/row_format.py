"""The rows of ``--jsonl``: what each key holds, checked.

A row has ``type``, ``stride`` ([of Y, of X] or null), ``dims`` (extents by name), ``dataflow``
(directives as they stand in a mapping file) and ``hw`` (``num_pes``, ``noc_bw``, ``hop_latency``,
``offchip_bw``, ``simd``; the exact model also reads ``l1``, ``l2``, ``hops``, ``offchip_cost`` and,
if given, ``mac_nj``, ``l1_macs``, ``l2_macs`` and ``noc_macs``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from maestro_env.base.checks import require_integer, require_type

_STRIDED = ("Y", "X")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*'?")


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
