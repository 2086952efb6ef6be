"""Whole networks: every distinct layer mapped, and what the network then takes.

Layers are searched in waves, so that a search can start from the mappings of similar layers: which
ones depends on the network alone, not on how many processes search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cell_pool import run_cells
from experiments.cells import Versions
from experiments.claims import claimed, remove_abandoned
from experiments.files import RecordError, check_same, is_empty, read_record, write_record
from experiments.goals import ANEW, Goal, ProblemConfig, make_goal
from experiments.layer_search import LayerWork, MappedLayer, SearchSettings
from experiments.library import Entry, Start, add_to_library, read_library, start_of
from maestro_env.cost import Cost
from maestro_env.front import least_product
from maestro_env.hardware import Hardware, find_hardware
from maestro_env.layer import Layer
from maestro_env.transfer import spread
from maestro_env.workloads.network import Network

CONFIG = "config.json"
_LIBRARY = "library.json"


@dataclass(frozen=True, eq=False)
class Choice:
    """One mapping for every layer of a network that has one, and what they take together.

    Args:
        name: how they were chosen.
        costs: of one execution of every layer.
        vectors: of every layer, int32[D].
        latency_cycles: of all executions, one after the other.
        energy_nj: of all executions.
        l1_bytes: the most a layer needs of a PE's L1.
        l2_bytes: the most a layer needs of L2.
        area_um2: of one accelerator with such buffers.
    """

    name: str
    costs: tuple[Cost, ...]
    vectors: tuple[tuple[int, ...], ...]
    latency_cycles: float
    energy_nj: float
    l1_bytes: float
    l2_bytes: float
    area_um2: float

    @property
    def edp(self) -> float:
        """Latency times energy, in cycles x nJ."""
        return self.latency_cycles * self.energy_nj


@dataclass(frozen=True, eq=False)
class MappedNetwork:
    """A network whose layers are mapped.

    Args:
        network: the layers, and what is left out.
        hardware: they are mapped to.
        layers: what was found for each.
    """

    network: Network
    hardware: Hardware
    layers: tuple[MappedLayer, ...]

    @cached_property
    def mapped(self) -> list[tuple[Layer, MappedLayer]]:
        """The layers that have a valid mapping, with what was found."""
        return [pair for pair in self._pairs if pair[1].best is not None]

    @property
    def unmapped(self) -> list[str]:
        """Names of the layers that have none; they are in no choice."""
        return [layer.name for layer, found in self._pairs if found.best is None]

    @property
    def _pairs(self) -> Iterable[tuple[Layer, MappedLayer]]:
        return zip(self.network.layers, self.layers, strict=True)

    @property
    def bound(self) -> float | None:
        """What no choice of mappings goes below, from the bounds of the layers; None without one.

        Of EDP, a product of sums, it is (sum of count x sqrt(bound))^2, by Cauchy and Schwarz.
        """
        power = 0.5 if self.layers[0].goal.objective.name == "edp" else 1.0
        parts = [layer.count * (found.bound or 0.0) ** power for layer, found in self.mapped]
        return math.fsum(parts) ** (1 / power) if all(parts) else None

    def best_of_layers(self) -> Choice:
        """Return each layer's best mapping; at least one layer must have one."""
        return self._choice("best of every layer", [found.best or 0 for _, found in self.mapped])

    def best_of_network(self) -> Choice:
        """Return the mappings of the layers' fronts whose total latency x energy is least."""
        figures = [found.front.figures for _, found in self.mapped]
        counts = [layer.count for layer, _ in self.mapped]
        return self._choice("best of the network", least_product(figures, counts))

    def _choice(self, name: str, rows: Sequence[int]) -> Choice:
        layers = [found for _, found in self.mapped]
        points = [each.front.points[row] for each, row in zip(layers, rows, strict=True)]
        costs = [_cost(each.goal, point) for each, point in zip(layers, points, strict=True)]
        counts = [layer.count for layer, _ in self.mapped]
        executed = list(zip(counts, costs, strict=True))
        l1, l2 = (max(each) for each in zip(*map(buffer_bytes, costs), strict=True))
        return Choice(
            name,
            tuple(costs),
            tuple(tuple(each.tolist()) for each in points),
            math.fsum(count * cost.latency_cycles for count, cost in executed),
            math.fsum(count * cost.energy_nj for count, cost in executed),
            l1,
            l2,
            self.hardware.area_um2(l1, l2),
        )


def map_network(
    network: Network,
    directory: Path,
    problem: ProblemConfig,
    objective: str = "edp",
    settings: SearchSettings | None = None,
    warm: bool = True,
    library: Path | None = None,
    threads: int = 1,
    jobs: int = 1,
    versions: Versions | None = None,
) -> tuple[MappedNetwork | None, int]:
    """Map every layer of a network that a directory has no record of yet.

    The result depends neither on threads and jobs nor on whether it was interrupted.

    Args:
        network: whose layers are mapped.
        directory: that keeps the records; it exists.
        problem: hardware, cost model and map space.
        objective: what is minimised for every layer: latency, energy or edp.
        settings: of the searches; None for the defaults.
        warm: whether searches start from the mappings of similar layers.
        library: a file of mapped layers to start from and to add to; None for none.
        threads: of the batch evaluation.
        jobs: layers at a time, each in a process of its own.
        versions: of what computes it, for the records.

    Returns:
        The mapped network, None unless all layers are, and an exit status.
    """
    settings = settings or SearchSettings()
    hardware = find_hardware(problem.hardware)
    goals = [make_goal(problem, layer, hardware, objective) for layer in network.layers]
    facts = _facts(network, goals[0], problem, settings, warm)
    entries = _open(directory, facts, versions or {}, library)
    found: dict[int, MappedLayer] = {}
    for wave in spread(network.layers) if warm else [range(len(goals))]:
        works = {
            index: LayerWork(
                network.layers[index].name,
                goals[index],
                settings,
                directory,
                versions or {},
                _start(goals[index], [*found.values()], entries, warm),
                threads,
            )
            for index in wave
        }
        left = [work for work in works.values() if not work.path.exists()]
        finished = len(found) + len(works) - len(left)
        if status := run_cells(left, finished, jobs, len(goals)):
            return None, status
        for index, work in works.items():
            mapped = work.read()
            assert mapped is not None
            found[index] = mapped
    layers = tuple(found[index] for index in range(len(goals)))
    if library is not None:
        add_to_library(library, [entry for each in layers if (entry := _entry(each))])
    return MappedNetwork(network, hardware, layers), 0


def _start(goal: Goal, found: Sequence[MappedLayer], entries: Sequence[Entry], warm: bool) -> Start:
    """Return what a search begins with: the best mappings of similar layers found before."""
    if not warm:
        return ()
    return start_of(goal, [*(entry for each in found if (entry := _entry(each))), *entries])


def _entry(found: MappedLayer) -> Entry | None:
    if found.best is None:
        return None
    point = found.front.points[found.best].tolist()
    return Entry.of(found.goal, point, float(found.values[found.best]))


def _open(
    directory: Path, facts: dict[str, Any], versions: Versions, library: Path | None
) -> list[Entry]:
    """Write what a directory is for, or check it; return what its library has.

    A copy of the library stays in the directory, so that what others add to it changes nothing.
    """
    path, copy = directory / CONFIG, directory / _LIBRARY
    with claimed(path):
        if path.exists():
            check_same(path, read_record(path, ANEW), facts)
        elif is_empty(directory):
            if library is not None:
                add_to_library(copy, read_library(library))
            # Last, so that a directory with it is complete.
            write_record(path, facts | {"versions": versions})
        else:
            raise RecordError(f"{directory} has files but no {CONFIG}: it is no network's; {ANEW}")
    remove_abandoned(directory)
    return read_library(copy)


def _facts(
    network: Network, goal: Goal, problem: ProblemConfig, settings: SearchSettings, warm: bool
) -> dict[str, Any]:
    """Return what decides the result, as JSON holds it."""
    given = {field.name: getattr(problem, field.name) for field in fields(ProblemConfig)}
    return {
        "network": {"name": network.name, "layers": [_layer(each) for each in network.layers]},
        "hardware": asdict(goal.problem.hardware),
        "config": {**given, **asdict(settings), "objective": goal.objective.name, "warm": warm},
    }


def _layer(layer: Layer) -> list[Any]:
    return [layer.name, layer.operator, dict(layer.extents), list(layer.stride), layer.count]


def _cost(goal: Goal, point: np.ndarray) -> Cost:
    cost, _ = goal.problem.evaluate_mapping(goal.problem.space.decode(point))
    assert cost is not None
    return cost


def buffer_bytes(cost: Cost) -> tuple[float, float]:
    """Return the bytes that the area of a mapping counts, of L1 and of L2."""
    used = cost.l2_bytes if cost.l2_used_bytes is None else cost.l2_used_bytes
    return cost.l1_bytes or 0.0, used or 0.0
