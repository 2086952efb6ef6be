"""An accelerator with any number of memories and spatial fan-outs (docs/spec/hierarchy.md, H1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from maestro_env import _native
from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.elements import (
    MAX_WIDTH,
    TENSORS,
    Element,
    FanoutElement,
    MacElement,
    MemoryElement,
    require_energy,
)
from maestro_env.accelerators.loop_rules import ANY_LOOPS, LoopRules
from maestro_env.base.checks import (
    MAX_INT,
    require_integer,
    require_name,
    require_number,
    require_type,
    tuple_of,
)
from maestro_env.base.errors import ArgumentTypeError, HardwareError, UnknownNameError, quoted

_MAC = "mac"


@dataclass(frozen=True)
class Hierarchy(Accelerator):
    """Memories and fan-outs, outermost first; the MAC units come last.

    Args:
        elements: the first is a memory that keeps all tensors, without limit of its capacity.
        mac: the units that compute.
        word_bits: of the words of all tensors, unless a memory says otherwise.
        name: in tables and files, at most 200 characters.
        clock_mhz: for reports; None where it is unknown.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        HardwareError: an accelerator that cannot exist; the message says what to change.
    """

    MODEL: ClassVar[str] = "hierarchy"

    elements: Sequence[Element]
    mac: MacElement = field(default_factory=MacElement)
    word_bits: int = 8
    name: str = ""
    clock_mhz: float | None = None

    def __post_init__(self) -> None:
        elements = tuple_of("elements", self.elements, object, "memories and fan-outs")
        for each in elements:
            if not isinstance(each, Element):
                raise ArgumentTypeError(
                    f"an element is {quoted(each)}; allowed: a MemoryElement or a FanoutElement"
                )
        object.__setattr__(self, "elements", elements)
        require_type("mac", self.mac, MacElement, "such as MacElement()")
        require_integer("word_bits", self.word_bits, HardwareError, most=MAX_WIDTH)
        require_name("an accelerator's name", self.name, HardwareError, "such as gemmini")
        if self.clock_mhz is not None:
            require_number("clock_mhz", self.clock_mhz, HardwareError, MAX_INT, positive=True)
        self._check_chain()
        self._check_names()
        self.native()

    def __hash__(self) -> int:
        # Capacities by tensor cannot be hashed.
        sizes = (
            each.size if isinstance(each, FanoutElement) else each.capacity_bits
            for each in self.elements
        )
        hashed = (each for each in sizes if not isinstance(each, Mapping))
        return hash((self.name, *self.names, *hashed))

    @property
    def names(self) -> list[str]:
        """Names of the elements, outermost first."""
        return [element.name for element in self.elements]

    @property
    def rules(self) -> list[LoopRules]:
        """What each element allows of the loops of a mapping."""
        return [element.rules for element in self.elements]

    @property
    def peak_macs_per_cycle(self) -> float:
        """MACs a cycle of all units together; infinite if a fan-out has no limit."""
        fanouts = (each for each in self.elements if isinstance(each, FanoutElement))
        return self.mac.simd * math.prod(each.size or math.inf for each in fanouts)

    @property
    def deciding(self) -> Hierarchy:
        return replace(self, name="")

    def native(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return elements and MAC units as the C++ core reads them."""
        elements = [
            element.native(self.word_bits, self._pool(index, element))
            if isinstance(element, MemoryElement)
            else element.native()
            for index, element in enumerate(self.elements)
        ]
        return elements, {**self.mac.native(), "leak_pj": self.leak_pj}

    def counted(self) -> Iterator[tuple[Element, float]]:
        """Yield the elements, and how many instances there are."""
        units = 1.0
        for element in self.elements:
            yield element, units
            if isinstance(element, FanoutElement):
                units *= element.size or math.inf

    @property
    def leak_pj(self) -> float:
        """Energy in pJ that all memories leak in a cycle.

        Raises:
            HardwareError: without a clock, or of memories without number.
        """
        leaks = {
            each.name: units * require_energy(f"memory {each.name}: leak_mw", each.leak_mw)
            for each, units in self.counted()
            if isinstance(each, MemoryElement) and each.leak_mw
        }
        if not leaks:
            return 0.0
        if self.clock_mhz is None or math.isinf(sum(leaks.values())):
            missing = "no clock_mhz" if self.clock_mhz is None else "a fan-out without size above"
            raise HardwareError(
                f"memory {next(iter(leaks))} has leak_mw, but {self.name or 'the accelerator'} has "
                f"{missing}; allowed: a clock_mhz, and a size of each fan-out"
            )
        # A mW over a MHz is a nJ.
        return 1000 * sum(leaks.values()) / self.clock_mhz

    def check_words(self) -> None:
        """Refuse a memory that cannot hold a word of each of its tensors, as no mapping fits.

        Raises:
            HardwareError: of such a memory.
        """
        elements, _ = self.native()
        for pool, memory in enumerate(elements):
            parts = [each for each in elements if each.get("pool") == pool]
            words = {
                tensor: sum(e["buffers"] * e["width"][t] for e in parts if e["keeps"][t])
                for t, tensor in enumerate(TENSORS)
            }
            alone = [{tensor: bits} for tensor, bits in words.items()]
            for room, held in zip(memory.get("capacity", ()), [*alone, words], strict=False):
                if room < sum(held.values()):
                    least = ", ".join(f"{bits:,} of {each}" for each, bits in held.items() if bits)
                    raise HardwareError(
                        f"memory {memory['name']} of {self.name or 'the accelerator'} has "
                        f"{room:,.0f} bits, but a word in each buffer takes {least}; allowed: "
                        f"{sum(held.values()):,} or more"
                    )

    def _check_names(self) -> None:
        for index, element in enumerate(self.elements):
            require_name("name of an element", element.name, HardwareError, "such as GLB")
            if element.name in (_MAC, *self.names[:index]):
                raise HardwareError(
                    f"two elements are called {quoted(element.name)}; allowed: a name for each, "
                    f"other than {_MAC}"
                )

    def _check_chain(self) -> None:
        first = self.elements[0] if self.elements else None
        if not isinstance(first, MemoryElement) or not set(TENSORS) <= set(first.keeps):
            raise HardwareError(
                f"the first element is {quoted(first and first.name)}; allowed: a memory that "
                f"keeps {', '.join(TENSORS)}"
            )
        if first.launch_cycles:
            raise HardwareError(
                f"memory {first.name} has launch_cycles {first.launch_cycles}; allowed: 0, as no "
                "memory outside loads it"
            )
        for element in self.elements[1:]:
            if isinstance(element, MemoryElement) and element.refill:
                raise HardwareError(
                    f"memory {element.name} has refill {quoted(element.refill)}; allowed: 0, as "
                    f"refill is of the first memory, {first.name}"
                )
        fanouts = sum(isinstance(element, FanoutElement) for element in self.elements)
        limits = _native.HIERARCHY_MAX_ELEMENTS, _native.HIERARCHY_MAX_FANOUTS
        if len(self.elements) > limits[0] or fanouts > limits[1]:
            raise HardwareError(
                f"{len(self.elements)} elements, {fanouts} of them fan-outs; allowed: at most "
                f"{limits[0]} and {limits[1]}"
            )

    def _pool(self, index: int, element: MemoryElement) -> int:
        """Return the index of the element with the physical memory of one."""
        if element.pool is None:
            return index
        allowed = {}
        for other in range(index - 1, -1, -1):
            found = self.elements[other]
            if not isinstance(found, MemoryElement):
                break
            if found.pool is None:
                allowed[found.name] = other
        if element.pool not in allowed:
            raise HardwareError(
                f"memory {element.name} is a part of {quoted(element.pool)}; allowed: an earlier "
                f"memory without a fan-out in between, here {', '.join(allowed) or 'none'}"
            )
        return allowed[element.pool]


def with_rules(hierarchy: Hierarchy, rules: Mapping[str, LoopRules]) -> Hierarchy:
    """Return an accelerator to which rules of elements, by name, are added.

    Raises:
        UnknownNameError: no such element.
        HardwareError: rules that no such element can have, or that leave it no loop.
    """
    for name in rules:
        if name not in hierarchy.names:
            raise UnknownNameError("element", name, hierarchy.names)
    return replace(hierarchy, elements=[_ruled(e, rules.get(e.name)) for e in hierarchy.elements])


def _ruled(element: Element, rules: LoopRules | None) -> Element:
    if rules is None:
        return element
    own, both = element.rules.dims, element.rules.both(rules)
    if own and rules.dims and not both.dims:
        raise HardwareError(
            f"{element.name} has loops of {', '.join(own)} alone, and the constraints leave it "
            f"{', '.join(rules.dims)} alone; allowed: some of its own, or constraints none"
        )
    return replace(element, rules=both)


def without_rules(hierarchy: Hierarchy) -> Hierarchy:
    """Return an accelerator that can run any loops."""
    return replace(hierarchy, elements=[replace(e, rules=ANY_LOOPS) for e in hierarchy.elements])
