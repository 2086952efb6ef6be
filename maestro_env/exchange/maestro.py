"""Mappings in MAESTRO's format, and in JSON: the forms that ``Mapping`` reads and writes itself."""

from __future__ import annotations

from maestro_env.base.checks import require_type
from maestro_env.evaluation.problem import Problem
from maestro_env.exchange.nests import MappedLayer, unsayable
from maestro_env.mapspace.mapping import Mapping, mapped_in_m
from maestro_env.workloads.files.m_network import layer_in_m

_WINDOWS = ("R", "S")
_REFUSE = unsayable("MAESTRO")


def to_m(mapping: Mapping, problem: Problem) -> str:
    """Write a MAESTRO mapping file of the layer.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: loops over something else than the layer, or tiles of R or S.
    """
    _check(mapping, problem)
    extents = problem.layer.extents
    dims = {*problem.layer.loop_extents, *extents}
    for loop in (loop for level in mapping.levels for loop in level.loops):
        if loop.dim not in dims:
            raise _REFUSE(f"the layer has no dimension {loop.dim}")
        cut = not loop.size == loop.offset == extents.get(loop.dim)
        if loop.dim in _WINDOWS and not loop.spatial and cut:
            raise _REFUSE(
                f"the loop '{loop}' tiles a window; MAESTRO reads only tiles of "
                f"{extents[loop.dim]}, all of {loop.dim}"
            )
    return mapping.to_m(problem.layer)


def from_m(text: str, source: str = "mapping") -> MappedLayer:
    """Read a MAESTRO mapping file with one layer; errors begin with ``source``.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping.
        LayerError: a layer that cannot be computed.
    """
    Mapping.from_m(text, source)
    return all_from_m(text, source)[0]


def all_from_m(text: str, source: str = "mapping") -> list[MappedLayer]:
    """Read a MAESTRO mapping file with any number of layers, as ``from_m`` does."""
    return [MappedLayer(mapping, layer_in_m(layer)) for layer, mapping in mapped_in_m(text, source)]


def to_json(mapping: Mapping, problem: Problem) -> str:
    """Write the mapping alone, as ``best_mapping.json`` of a run."""
    _check(mapping, problem)
    return mapping.to_json()


def from_json(text: str, source: str = "mapping") -> MappedLayer:
    """Read what ``to_json`` wrote; errors begin with ``source``.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping.
    """
    return MappedLayer(Mapping.from_json(text, source))


def _check(mapping: Mapping, problem: Problem) -> None:
    require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
    require_type("problem", problem, Problem, "of the layer and the hardware")
