"""Which loops an element of an accelerator can run (docs/spec/hierarchy.md, H2.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from maestro_env.base.checks import require_integer, tuple_of
from maestro_env.base.errors import HardwareError, quoted

DIMS = ("N", "G", "K", "C", "P", "Q", "R", "S")
"""Batch, groups, filters, channels, output rows and columns, window rows and columns."""

INDEXING = {"input": "NGCPQRS", "filter": "GKCRS", "output": "NGKPQ"}
"""Dimensions that index each tensor."""

_OF_MEMORIES = ("tiles", "outermost", "innermost", "stays")
_OF_FANOUTS = ("units",)


@dataclass(frozen=True, kw_only=True)
class LoopRules:
    """What an element allows of the loops of a mapping; loops that cut nothing are none.

    Args:
        dims: the dimensions that may have a loop here; None: all.
        units: the most units of a dimension side by side, at a fan-out.
        tiles: the largest tile of a dimension that a memory gets.
        whole: dimensions that the element gets uncut.
        outermost: the first loops of a memory, where they are there, from the outermost on.
        innermost: its last loops, from the innermost on.
        stays: tensors whose tiles come to a memory once: outside of it, no loop of a dimension
            that indexes the tensor stands inside of one that does not.
    """

    dims: Collection[str] | None = None
    units: Mapping[str, int] = field(default_factory=dict)
    tiles: Mapping[str, int] = field(default_factory=dict)
    whole: Collection[str] = ()
    outermost: Sequence[str] = ()
    innermost: Sequence[str] = ()
    stays: Collection[str] = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            # The same rules are equal, whatever lists them.
            if isinstance(value := getattr(self, each.name), list):
                object.__setattr__(self, each.name, tuple(value))

    def __bool__(self) -> bool:
        """Say whether there is a rule."""
        return self.dims is not None or any(
            getattr(self, each.name) for each in fields(self) if each.name != "dims"
        )

    def check(self, what: str, memory: bool) -> None:
        """Refuse rules that no element, or none of this kind, can have.

        Raises:
            HardwareError: such rules; it names the element as ``what`` does.
        """
        for name in _OF_FANOUTS if memory else _OF_MEMORIES:
            if getattr(self, name):
                kind = "fan-outs" if memory else "memories"
                raise HardwareError(f"{what} has {name}, which only {kind} have; leave it out")
        named = ("dims", self.dims or ()), ("whole", self.whole)
        for name, dims in (*named, ("order", (*self.outermost, *self.innermost))):
            _require(f"{what}: {name}", dims, DIMS)
        _require(f"{what}: stays", self.stays, tuple(INDEXING))
        for name in ("units", "tiles"):
            sizes: Mapping[str, int] = getattr(self, name)
            _require(f"{what}: {name}", sizes, DIMS)
            for dim, size in sizes.items():
                require_integer(f"{what}: {name} of {dim}", size, HardwareError)

    def allows(self, dim: str) -> bool:
        """Say whether a dimension may have a loop here."""
        return self.dims is None or dim in self.dims

    def both(self, other: LoopRules) -> LoopRules:
        """Return the rules that hold where these and others do.

        Raises:
            HardwareError: orders that contradict each other.
        """
        dims = self.dims if other.dims is None else [d for d in other.dims if self.allows(d)]
        return LoopRules(
            dims=dims,
            units=_least(self.units, other.units),
            tiles=_least(self.tiles, other.tiles),
            whole=[*self.whole, *(dim for dim in other.whole if dim not in self.whole)],
            outermost=_longer(self.outermost, other.outermost),
            innermost=_longer(self.innermost, other.innermost),
            stays=[*self.stays, *(each for each in other.stays if each not in self.stays)],
        )

    def record(self) -> dict[str, Any]:
        """Return the rules that say something, as YAML has them."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: dict(value) if isinstance(value, Mapping) else list(value)
            for name, value in said.items()
            if value or (name == "dims" and value is not None)
        }


ANY_LOOPS = LoopRules()
"""No rule."""


def looping(rules: Sequence[LoopRules], element: int) -> list[str]:
    """Return the dimensions that may have a loop at an element, given the rules of each."""
    whole = {dim for inside in rules[element + 1 :] for dim in inside.whole}
    return [dim for dim in DIMS if rules[element].allows(dim) and dim not in whole]


def _require(what: str, named: Collection[str], allowed: Sequence[str]) -> None:
    known = tuple_of(what, named, str, f"some of {', '.join(allowed)}")
    for place, each in enumerate(known):
        if each not in allowed:
            raise HardwareError(f"{what} has {quoted(each)}; allowed: {', '.join(allowed)}")
        if each in known[:place]:
            raise HardwareError(f"{what} has {each} twice; give it once")


def _least(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {dim: min(each[dim] for each in (one, other) if dim in each) for dim in {**one, **other}}


def _longer(one: Sequence[str], other: Sequence[str]) -> Sequence[str]:
    short, long = sorted((one, other), key=len)
    if list(long[: len(short)]) != list(short):
        raise HardwareError(
            f"orders {', '.join(one)} and {', '.join(other)} contradict each other; give one that "
            "goes on with the other"
        )
    return long
