"""Directives as mapping files write them, as the core takes them."""

from __future__ import annotations


def value(text: str, dims: dict[str, int]) -> int:
    return dims[text[3:-1]] if text.startswith("Sz(") else int(text)


def directive(line: str, dims: dict[str, int]) -> tuple[str, str, int, int]:
    """Read ``SpatialMap(2,Sz(R)) Y';`` or ``Cluster(4,P);``."""
    head, _, rest = line.partition("(")
    arguments, _, dim = rest.rpartition(")")
    size, other = arguments.split(",")
    if head == "Cluster":
        kind = head if other in ("P", "L") else "malformed"
        return kind, "", value(size, dims), value(size, dims)
    return head, dim.strip(" ;"), value(size, dims), value(other, dims)
