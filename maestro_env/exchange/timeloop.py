"""Mappings as Timeloop v4 writes them, with the architecture and the problem they belong to.

A level of ours is the temporal loops of a memory, the loop over groups of tiles among them, and
then the spatial loop of the fan-out below it. Timeloop says how often a loop runs, not the size of
a tile; of an extent that is no multiple, how often it runs at the end (``K=4,2``).
"""

from __future__ import annotations

import re
from collections import abc
from dataclasses import dataclass

from maestro_env.accelerators.files.timeloop import (
    TAGS,
    architecture_text,
    container_of,
    read_hierarchy,
)
from maestro_env.accelerators.two_buffers import memories_of, two_buffers
from maestro_env.base.checks import MAX_INT
from maestro_env.base.errors import HardwareError, LayerError, MappingError, Refuse, quoted
from maestro_env.base.yaml_file import Part, read_yaml
from maestro_env.evaluation.problem import Problem
from maestro_env.exchange.nest import (
    Chain,
    Cut,
    MappedLayer,
    Nest,
    innermost,
    mapping_of,
    nest_of,
    parallel_of,
    units_of,
    unsayable,
)
from maestro_env.mapspace.mapping import Loop, Mapping
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.affine import rank_of
from maestro_env.workloads.files.timeloop import problem_layer, problem_text

_REFUSE = unsayable("Timeloop")
KEPT = ("datatype", "dataspace", "bypass")
"""Types of directives about what memories keep."""

BETWEEN = re.compile("inter_(.+)_spatial")
"""What Timeloop's mapper calls the fan-out of a container."""

_FACTOR = re.compile(r"([A-Za-z])\s*=?\s*([0-9]{1,10})(?:,([0-9]{1,10}))?")


@dataclass(frozen=True)
class Bound:
    """How often a loop runs, and how often in the last round of the loops outside of it."""

    dim: str
    runs: int
    rest: int

    def __str__(self) -> str:
        rest = "" if self.rest == self.runs else f",{self.rest}"
        return f"{rank_of(self.dim)}={self.runs}{rest}"


Bounds = tuple[Bound, ...]

_Loops = dict[tuple[str, bool], Bounds]
"""Loops, outermost first, by memory: the temporal ones, and (True) the spatial ones below it."""


def to_timeloop(mapping: Mapping, problem: Problem) -> str:
    """Write architecture, problem and mapping as Timeloop v4 YAML.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: an invalid mapping, or one that Timeloop cannot express.
    """
    nest = nest_of(mapping, problem, _REFUSE)
    if problem.hardware.simd_lanes > 1:
        raise _REFUSE(f"simd_lanes is {problem.hardware.simd_lanes}; a MAC unit has one")
    memories = memories_of(problem.hardware, units_of(mapping, problem.hardware.num_pes))
    names = Chain(memories, container_of).names
    fanouts = {memory: f"Level{index}" for index, memory in enumerate(names[1:-1])}
    loops = _loops(nest, problem.layer.loop_extents, names, _REFUSE)
    lines = ["mapping:"]
    for (memory, is_spatial), bounds in loops.items():
        # From the innermost.
        factors = ", ".join(f"'{bound}'" for bound in reversed(bounds))
        order = ", ".join(rank_of(bound.dim) for bound in reversed(bounds))
        target, kind = (fanouts[memory], "spatial") if is_spatial else (memory, "temporal")
        split = ", split: 1" if is_spatial else ""
        lines.append(
            f"- {{target: {target}, type: {kind}, factors: [{factors}], permutation: [{order}]"
            f"{split}}}"
        )
    text = architecture_text(memories) + problem_text(problem.layer)
    return text + "\n".join(lines) + "\n"


def _loops(nest: Nest, extents: dict[str, int], memories: list[str], refuse: Refuse) -> _Loops:
    """Return the loops of the levels and of a PE; main memory, the first of all, has none."""
    for level in nest:
        for cut in level:
            _check(cut, level is nest[0], refuse)
    rests = Rests(extents)
    loops: _Loops = {}
    for level, memory in zip(nest, memories[1:], strict=False):
        loops[memory, False] = tuple(
            rests.bound(cut.dim, cut.steps, cut.size * cut.used) for cut in level
        )
        loops[memory, True] = tuple(
            rests.bound(cut.dim, cut.used, cut.size) for cut in level if cut.loop.spatial
        )
    tile = innermost(nest, extents)
    loops[memories[-1], False] = tuple(rests.bound(dim, size, 1) for dim, size in tile.items())
    return loops


def _check(cut: Cut, is_first: bool, refuse: Refuse) -> None:
    if is_first:
        return
    if cut.extent % cut.size:
        raise refuse(
            f"{cut.extent} of {cut.dim} in tiles of {cut.size} leave a remainder in every round; "
            "only the last tile of all may be shorter, so each tile has to divide the one around it"
        )
    if cut.steps > 1 and cut.tiles % cut.units:
        raise refuse(
            f"{cut.tiles} tiles of {cut.dim} on {cut.units} units leave some idle in every round; "
            "only the last round of all may be shorter"
        )


class Rests:
    """Gives the last round of loops: the digits of the last index in the base of their runs."""

    def __init__(self, extents: dict[str, int]) -> None:
        self._left = {dim: extent - 1 for dim, extent in extents.items()}

    def bound(self, dim: str, runs: int, inner: int) -> Bound:
        """Return the bound of the next inner loop, each run of which covers ``inner``."""
        rest, self._left[dim] = divmod(self._left[dim], inner)
        return Bound(dim, runs, rest + 1)


# --- In -----------------------------------------------------------------------------------------


def from_timeloop(text: str, source: str = "mapping") -> MappedLayer:
    """Read a mapping with the architecture and the problem it belongs to, from one YAML text.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping, or one not expressible here; errors begin with ``source``.
        LayerError: a problem that is no layer of ours.
        HardwareError: an architecture that is no accelerator of ours.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    hierarchy = read_hierarchy(root.refusing(HardwareError))
    hardware = two_buffers(hierarchy, root.refusing(HardwareError))
    chain = Chain(hierarchy, container_of)
    workload = problem_layer(root["problem"].refusing(LayerError))
    part, extents = root["mapping"], workload.layer.loop_extents
    given = _read_loops(part, chain, workload.dims, extents)
    mapping = _mapping(given, chain, extents, part)
    nest = nest_of(mapping, Problem(MapSpace(workload.layer, hardware)), part.error)
    _compare(given, _loops(nest, extents, chain.names, part.error), chain, part)
    return MappedLayer(mapping, workload.layer, hardware)


def _read_loops(
    part: Part, chain: Chain, dims: abc.Mapping[str, str], extents: dict[str, int]
) -> _Loops:
    places: dict[tuple[str, str], str] = {}
    for memory, fanouts in zip(chain.names, chain.places, strict=True):
        places[memory, "temporal"] = memory
        places |= {(name, "spatial"): memory for name in fanouts}
    loops: _Loops = {}
    for directive in part.items():
        kind, target = directive["type"].text(), directive["target"].text()
        between = BETWEEN.fullmatch(target)
        if kind in KEPT:
            if not between and "bypass" in directive and directive["bypass"].value:
                directive.fail("a tensor bypasses a memory; every tensor of ours passes all")
            continue
        directive.only("target", "type", "factors", "permutation", "split")
        bounds = read_bounds(directive, dims, extents)
        if between and kind == "temporal" and not _running(bounds):
            continue
        place = (between[1] if between else target, kind)
        if place not in places:
            directive.fail(
                f"{kind} loops of {quoted(target)} are given twice, or the architecture has no "
                "such place"
            )
        key = (places.pop(place), kind == "spatial")
        loops[key] = (*loops.get(key, ()), *bounds)
    return loops


def read_bounds(
    part: Part, dims: abc.Mapping[str, str], extents: dict[str, int]
) -> tuple[Bound, ...]:
    """Return the loops of a directive, outermost first."""
    found: dict[str, Bound] = {}
    for text in _listed(part["factors"], _FACTOR):
        match = _FACTOR.fullmatch(text)
        if match is None or match[1] not in dims:
            part.fail(f"{quoted(text)} is not a factor of a dimension, such as K=4 or K=4,2")
        dim = dims[match[1]]
        runs = int(match[2]) or extents[dim]
        if dim in found:
            part.fail(f"{match[1]} has two factors")
        found[dim] = Bound(dim, runs, int(match[3] or runs))
        if not 1 <= found[dim].rest <= runs:
            part.fail(f"{quoted(text)} runs longer at its end than before")
    order = _listed(part["permutation"], re.compile("[A-Za-z]")) if "permutation" in part else []
    if len({*order}) < len(order) or {*order} - dims.keys():
        part.fail("the permutation lists a dimension twice, or one that does not exist")
    ordered = [dims[rank] for rank in order]
    left = [dim for dim in found if dim not in ordered]
    if any(found[dim].runs > 1 for dim in left) and len(found) > 1:
        part.fail(f"the permutation lacks {rank_of(left[0])}")
    innermost_first = [found.get(dim, Bound(dim, 1, 1)) for dim in (*ordered, *left)]
    return tuple(reversed(innermost_first))


def _listed(part: Part, pattern: re.Pattern[str]) -> list[str]:
    """Return a list of texts, which Timeloop also takes as one text."""
    if isinstance(part.value, list):
        return [each.strip() for each in part.texts()]
    text = part.text()
    if pattern.sub("", text).strip(" ,"):
        part.fail(f"{quoted(text)} cannot be read")
    return [match[0] for match in pattern.finditer(text)]


def _mapping(given: _Loops, chain: Chain, extents: dict[str, int], part: Part) -> Mapping:
    """Make the mapping whose loops run as often as the file says, if there is one."""
    tile = dict.fromkeys(extents, 1)
    levels: list[list[Loop]] = []
    for memory in reversed(chain.memories[1:]):
        temporal, spatial = given.get((memory.name, False), ()), given.get((memory.name, True), ())
        if memory is not chain.memories[-1]:
            dims = [bound.dim for bound in temporal]
            running = {bound.dim for bound in spatial if bound.runs > 1}
            # Any loop of one step may be the spatial one, and any at all where there is one unit.
            still = [each.dim for each in temporal if each.runs == 1 or memory.fanout == 1]
            still = [*(each.dim for each in spatial), *still]
            parallel = parallel_of(running, still, memory.fanout, part)
            if parallel not in dims:
                dims.insert(0, parallel)
            sizes = {dim: min(tile[dim], extents[dim]) for dim in dims}
            levels.insert(0, [Loop(dim, sizes[dim], sizes[dim], dim == parallel) for dim in dims])
        for bound in (*temporal, *spatial):
            # A tile so large is clipped, and then differs from the loops of the file.
            tile[bound.dim] = min(tile[bound.dim] * bound.runs, MAX_INT)
    return mapping_of(levels, [memory.fanout for memory in chain.memories[2:-1]])


def _compare(given: _Loops, ours: _Loops, chain: Chain, part: Part) -> None:
    """Refuse loops that no mapping of ours has."""
    for key in {**given, **ours}:
        memory, is_spatial = key
        there, here = _running(given.get(key, ())), _running(ours.get(key, ()))
        if memory == chain.names[-1]:
            # Ours says nothing of the order within a PE.
            there, here = sorted(there), sorted(here)
        if there != here:
            place = "below" if is_spatial else "at"
            part.fail(
                f"the loops {place} {memory} are {' '.join(there) or 'none'}; in the mapping of "
                f"ours that comes nearest: {' '.join(here) or 'none'}"
            )


def _running(bounds: Bounds) -> list[str]:
    return [str(bound) for bound in bounds if bound.runs > 1]
