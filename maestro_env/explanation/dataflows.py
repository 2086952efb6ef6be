"""The textbook dataflows as mappings: weight-, output- and row-stationary.

A textbook names a dataflow by the tensor that stays in the PEs. Here a tensor stays as long as only
loops of other dimensions move, so its own loops stand outermost. Each level has one parallel loop.
The sizes are chosen for a layer and an accelerator: tiles begin small; then one at a time becomes
another power of two or the whole extent, as long as that improves an objective.

Not expressible with two levels: a second spatial loop in a level, such as the folding of several
filters or channels into the array of Eyeriss; and a tensor that stays in the PEs while L2 moves on,
as a cluster begins each tile with empty buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from maestro_env.base.checks import look_up
from maestro_env.base.errors import MappingError, MapSpaceError
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation.bottleneck import cost_of
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.workloads.layer import Layer

_Sizes = dict[tuple[int, str], int]
"""Of tiles, by level (0 for L2, 1 for L1) and dimension; and of the cluster, by ``_CLUSTER``."""
_CLUSTER = (1, "cluster")


@dataclass(frozen=True)
class Dataflow:
    """A textbook dataflow on a layer and an accelerator.

    Args:
        name: such as ``weight-stationary``.
        how: it is expressed, or why it is not.
        expressible: whether there is such a mapping of the layer.
        mapping: the best one found; None if it is not expressible, or no size fits the buffers.
        cost: of the mapping.
    """

    name: str
    how: str
    expressible: bool
    mapping: Mapping | None = None
    cost: Cost | None = None


@dataclass(frozen=True)
class _Pattern:
    """What a dataflow fixes of a mapping.

    Args:
        how: it is expressed.
        order: dimensions, outermost first, in both levels.
        parallel: dimension of L2 and of L1.
        fixed: sizes that are not chosen.
    """

    how: str
    order: tuple[str, ...]
    parallel: tuple[str, str]
    fixed: _Sizes


def textbook_dataflows(
    problem: Problem, objective: Objective = OBJECTIVES["edp"]
) -> tuple[Dataflow, ...]:
    """Return the textbook dataflows, sized for the problem's layer and accelerator.

    Args:
        problem: of the model ``exact``.
        objective: by which sizes are chosen.
    """
    found = []
    for name, describe in _DATAFLOWS.items():
        pattern = describe(problem.layer)
        if isinstance(pattern, str):
            found.append(Dataflow(name, pattern, False))
            continue
        best = _sized(problem, pattern, objective)
        mapping, cost = best if best else (None, None)
        found.append(Dataflow(name, pattern.how, True, mapping, cost))
    return tuple(found)


def parallel_loops(name: str, layer: Layer) -> tuple[str, str]:
    """Return the parallel loops of L2 and of L1 of a textbook dataflow.

    Raises:
        UnknownNameError: no such dataflow.
        MapSpaceError: no map space of the layer has it.
    """
    pattern = look_up("dataflow", name, _DATAFLOWS)(layer)
    if isinstance(pattern, str):
        raise MapSpaceError(f"{name}: {pattern}")
    if "R" in pattern.parallel:
        raise MapSpaceError(f"{name}: it is parallel over R, which no mapping of a map space is")
    return pattern.parallel


def _weight_stationary(layer: Layer) -> _Pattern:
    roles = _Roles(layer)
    filters, channels = roles.filters, roles.channels
    how = f"filter loops outside; clusters share out {filters}, the PEs of a cluster {channels}"
    order = roles.first(roles.of_filter)
    return _Pattern(how, order, (filters, channels), roles.whole_windows)


def _output_stationary(layer: Layer) -> _Pattern:
    roles = _Roles(layer)
    how = (
        f"output loops outside; clusters share out {roles.rows}, the PEs of a cluster "
        f"{roles.columns}"
    )
    order = roles.first(roles.of_output)
    return _Pattern(how, order, (roles.rows, roles.columns), roles.whole_windows)


def _row_stationary(layer: Layer) -> _Pattern | str:
    if not layer.is_convolution:
        return "a matrix product has no window whose rows could stay"
    roles = _Roles(layer)
    # No vector of a map space is parallel over R, but a mapping may be.
    how = "a PE slides a row of a filter along outputs; clusters share out Y', their PEs R"
    a_row = {(1, "R"): 1, (1, "Y'"): 1, _CLUSTER: layer.extents["R"]}
    order = roles.first(roles.of_filter)
    return _Pattern(how, order, ("Y'", "R"), {**roles.whole_windows, **a_row})


_DATAFLOWS: dict[str, Callable[[Layer], _Pattern | str]] = {
    "weight-stationary": _weight_stationary,
    "output-stationary": _output_stationary,
    "row-stationary": _row_stationary,
}


class _Roles:
    """The dimensions of a layer by what they are to its tensors."""

    def __init__(self, layer: Layer) -> None:
        self.dims = tuple(layer.loop_extents)
        windows = ("R", "S") if layer.is_convolution else ()
        self.whole_windows = {(at, dim): layer.extents[dim] for at in (0, 1) for dim in windows}
        if layer.operator == "GEMM":
            self.rows, self.columns, self.filters, self.channels = "M", "N", "N", "K"
            self.of_filter, self.of_output = {"N", "K"}, {"M", "N"}
            return
        self.rows, self.columns = "Y'", "X'"
        depthwise = layer.operator == "DSCONV"
        extents = layer.extents
        self.filters = "C" if depthwise else max("K", "G", key=lambda dim: extents.get(dim, 0))
        self.channels = "C"
        self.of_filter = {"G", "K", "C", "R", "S"}
        self.of_output = {"N", "G", "K", "Y'", "X'"} | ({"C"} if depthwise else set())

    def first(self, outside: Iterable[str]) -> tuple[str, ...]:
        """Return the dimensions, those of a tensor first."""
        return tuple(sorted(self.dims, key=lambda dim: dim not in outside))


def _sized(
    problem: Problem, pattern: _Pattern, objective: Objective
) -> tuple[Mapping, Cost] | None:
    """Choose the sizes of a dataflow; None if none fit."""
    extents = problem.layer.loop_extents
    best: tuple[float, Mapping, Cost] | None = None
    for cluster in _clusters(problem, pattern):
        sizes = {(level, dim): 1 for level in (0, 1) for dim in extents} | pattern.fixed
        sizes[_CLUSTER] = cluster
        # A cluster has work for all its PEs.
        inner = pattern.parallel[1]
        sizes[0, inner] = min(extents[inner], cluster * sizes[1, inner])
        found = _improved(problem, pattern, objective, sizes)
        if found and (best is None or found[0] < best[0]):
            best = found
    return best[1:] if best else None


def _clusters(problem: Problem, pattern: _Pattern) -> list[int]:
    """Return the sizes of clusters to try: powers of two that the parallel loop can fill."""
    most = min(problem.hardware.num_pes, problem.layer.loop_extents[pattern.parallel[1]])
    if _CLUSTER in pattern.fixed:
        return [pattern.fixed[_CLUSTER]] if pattern.fixed[_CLUSTER] <= most else []
    return sorted({most, *(2**power for power in range(most.bit_length()))})


def _improved(
    problem: Problem, pattern: _Pattern, objective: Objective, sizes: _Sizes
) -> tuple[float, Mapping, Cost] | None:
    """Change one size at a time as long as that improves the objective; return the end."""
    best = _evaluated(problem, pattern, objective, sizes)
    while best:
        tried = [
            (changed, found)
            for changed in _changed(problem.layer, pattern, sizes)
            if (found := _evaluated(problem, pattern, objective, changed))
        ]
        changed, found = min(tried, key=lambda each: each[1][0], default=(sizes, best))
        if found[0] >= best[0]:
            break
        sizes, best = changed, found
    return best


def _changed(layer: Layer, pattern: _Pattern, sizes: _Sizes) -> Iterator[_Sizes]:
    """Yield sizes of which one is another power of two, or the whole extent."""
    for key in sizes:
        if key in pattern.fixed or key == _CLUSTER:
            continue
        level, dim = key
        most = layer.loop_extents[dim] if level == 0 else sizes[0, dim]
        for size in (*(2**power for power in range(most.bit_length())), most):
            inner = min(sizes[1, dim], size) if level == 0 else size
            if size != sizes[key]:
                yield {**sizes, key: size, (1, dim): inner}


def _evaluated(
    problem: Problem, pattern: _Pattern, objective: Objective, sizes: _Sizes
) -> tuple[float, Mapping, Cost] | None:
    levels = []
    for level, cluster in enumerate((None, sizes[_CLUSTER])):
        tiles = ((dim, sizes[level, dim]) for dim in pattern.order)
        loops = (Loop(dim, size, size, dim == pattern.parallel[level]) for dim, size in tiles)
        levels.append(Level(tuple(loops), cluster))
    mapping = Mapping(tuple(levels))
    try:
        cost = cost_of(problem, mapping)
    except MappingError:
        return None
    return objective.of(cost.figures()), mapping, cost
