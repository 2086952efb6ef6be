"""Writes accelerators as Timeloop v4 has them; without an ``ERT`` it has energies of Accelergy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from maestro_env.accelerators.elements import TENSORS, Element, FanoutElement, MemoryElement
from maestro_env.accelerators.files.nodes import (
    MAC,
    check_said,
    exact,
    fanout_energies,
    nodes_of,
    picojoules,
    widths_of,
)
from maestro_env.accelerators.files.timeloop import (
    CYCLE,
    DUMMY,
    RATES,
    TAGS,
    UNLIMITED,
    container_of,
    read_hierarchy,
)
from maestro_env.accelerators.files.timeloop_constraints import DATASPACES
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.pricing import has_energies
from maestro_env.base.errors import Refuse
from maestro_env.base.yaml_file import read_yaml


def architecture_text(hierarchy: Hierarchy, refuse: Refuse, dims: Collection[str] = ()) -> str:
    """Write an accelerator, and which of some dimensions have no loop at its elements.

    Other rules of loops are left out: Timeloop's front end makes constraints a part of the mapping
    that stands beside them, which those would change.

    Raises:
        MaestroEnvError: of ``refuse``: it has what its file would not say.
    """
    said = fanout_energies(hierarchy, lambda each: f"{container_of(each)}_{each.axis}")
    if hierarchy.clock_mhz is not None:
        said[CYCLE] = exact(1 / (Fraction(str(hierarchy.clock_mhz)) * 10**6))
    lines = [f"variables: {_block(version='0.4', **said)}"] if said else []
    lines += ["architecture:", "  version: 0.4", "  nodes:"]
    for node in nodes_of(hierarchy, container_of, refuse):
        lines.append(
            _component(node, hierarchy, dims)
            if isinstance(node, MemoryElement)
            else _container(*node, dims)
        )
    unit = {"attributes": _block(datawidth=hierarchy.word_bits)}
    lines.append(_node("Component", {"name": MAC, "class": "intmac", **unit}))
    text = "\n".join([*lines, *_energies(hierarchy)]) + "\n"
    again = read_hierarchy(read_yaml(text, "architecture", refuse, TAGS))
    check_said(hierarchy, again, refuse)
    return text


def _container(name: str, fanouts: list[FanoutElement], dims: Collection[str]) -> str:
    meshes = _block(**{f"mesh{each.axis}": each.size or 1 for each in fanouts})
    apart = fanouts[0].apart
    spatial = {"no_reuse": _spaces(apart)} if apart else {}
    spatial |= _without_loops(fanouts, dims)
    limits = {"spatial": _block(**spatial)} if spatial else {}
    return _node("Container", {"name": name, "spatial": meshes}, limits)


def _without_loops(elements: Sequence[Element], dims: Collection[str]) -> dict[str, str]:
    """Return the constraint of a node of elements; one on K is read as one on groups too."""

    def allowed(dim: str) -> bool:
        return any(each.rules.allows(dim) for each in elements)

    factors = [f"{dim}=1" for dim in dims if not allowed(dim) and (dim != "K" or not allowed("G"))]
    return {"factors": f"[{', '.join(factors)}]"} if factors else {}


def _component(memory: MemoryElement, hierarchy: Hierarchy, dims: Collection[str]) -> str:
    first, last = hierarchy.elements[0], hierarchy.elements[-1]
    kind = "DRAM" if memory is first else "regfile" if memory is last else "SRAM"
    width, bits = _width(memory, hierarchy), memory.capacity_bits
    depth = bits // width if isinstance(bits, int) else UNLIMITED
    if not memory.keeps:
        kind, depth = DUMMY, 1
    attributes = {"width": width, "datawidth": width, "depth": depth} | {
        key: exact(Fraction(str(rate)) / width)
        for key, field in RATES.items()
        if (rate := getattr(memory, field)) is not None
    }
    if memory.buffers != 1:
        attributes["multiple_buffering"] = memory.buffers
    limits = {}
    if bypass := {*TENSORS} - {*memory.keeps}:
        limits["dataspace"] = _block(keep=_spaces(memory.keeps), bypass=_spaces(bypass))
    temporal = {"no_reuse": _spaces(memory.forgets)} if memory.forgets else {}
    # A last memory is read with tiles of what has no loop there.
    temporal |= {} if memory is last else _without_loops([memory], dims)
    if temporal:
        limits["temporal"] = _block(**temporal)
    said = {"name": memory.name, "class": kind, "attributes": _block(**attributes)}
    return _node("Component", said, limits)


def _width(memory: MemoryElement, hierarchy: Hierarchy) -> int:
    """Return the bits of a word, of which a memory has one width."""
    return next(iter(widths_of(memory, hierarchy.word_bits).values()), hierarchy.word_bits)


def _energies(hierarchy: Hierarchy) -> Iterator[str]:
    """Yield tables of energies of accesses, and of areas: Timeloop's front end takes both."""
    if not has_energies(hierarchy):
        return
    energies = {MAC: {"compute": Fraction(str(hierarchy.mac.pj))}}
    for each in hierarchy.elements:
        if isinstance(each, MemoryElement):
            energies[each.name] = picojoules(each, _width(each, hierarchy))
    yield from ("ERT:", "  version: 0.4", "  tables:")
    for name, actions in energies.items():
        listed = ", ".join(
            _block(name=action, arguments="{}", energy=_decimal(pj))
            for action, pj in actions.items()
        )
        yield f"  - {_block(name=name, actions=f'[{listed}]')}"
    yield from ("ART:", "  version: 0.4", "  tables:")
    yield from (f"  - {_block(name=name, area='0.0')}" for name in energies)


def _decimal(number: Fraction) -> str:
    """Write a number with a point, without which Timeloop's front end takes none here."""
    text = exact(number)
    return text if "." in text else f"{text}.0"


def _spaces(tensors: Collection[str]) -> str:
    return f"[{', '.join(name for name, tensor in DATASPACES.items() if tensor in tensors)}]"


def _node(tag: str, said: dict[str, str], limits: dict[str, str] | None = None) -> str:
    constraints = {"constraints": _block(**limits)} if limits else {}
    return f"  - !{tag} {_block(**said, **constraints)}"


def _block(**entries: object) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in entries.items())}}}"
