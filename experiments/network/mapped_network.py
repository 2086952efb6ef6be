"""A network whose layers are mapped: one mapping for every layer, and what they take together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.network.layer_search import MappedLayer
from experiments.search.goals import Goal
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.fronts import least_product
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import Network


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

    def value(self, objective: str) -> float:
        """Return the objective of the network: latency, energy or edp."""
        values = {"latency": self.latency_cycles, "energy": self.energy_nj, "edp": self.edp}
        return values[objective]


@dataclass(frozen=True, eq=False)
class MappedNetwork:
    """A network whose layers are mapped.

    Args:
        network: the layers, and what is left out.
        hardware: they are mapped to.
        layers: what was found for each.
        settings: that decide the result, by the names of their flags, as JSON holds them.
    """

    network: Network
    hardware: Hardware
    layers: tuple[MappedLayer, ...]
    settings: dict[str, Any]

    @property
    def objective(self) -> str:
        """What was minimised for every layer: latency, energy or edp."""
        return self.layers[0].goal.objective.name

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
        power = 0.5 if self.objective == "edp" else 1.0
        parts = [layer.count * (found.bound or 0.0) ** power for layer, found in self.mapped]
        return math.fsum(parts) ** (1 / power) if all(parts) else None

    def choices(self) -> list[Choice]:
        """Return the best of every layer and, for EDP, the best of the network."""
        best = self.best_of_layers()
        return [best, self.best_of_network()] if self.objective == "edp" else [best]

    def best_of_layers(self) -> Choice:
        """Return each layer's best mapping; at least one layer must have one."""
        return self._choice("best of every layer", [found.best or 0 for _, found in self.mapped])

    def best_of_network(self) -> Choice:
        """Return the mappings of the layers' fronts whose total latency x energy is least."""
        figures = [found.front.figures for _, found in self.mapped]
        counts = [layer.count for layer, _ in self.mapped]
        return self._choice("best of the network", least_product(figures, counts))

    def report(self, path: Path | str) -> None:
        """Write a report: a page for ``.html`` (extra ``report``), else ``.md`` or ``.csv``.

        Raises:
            RecordError: another ending, no layer that has a mapping, or a file that cannot be
                written.
            MissingExtraError: the page needs the extra ``report``.
        """
        from experiments.pages import section_of, write_report

        write_report([section_of(self)], Path(path))

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


def _cost(goal: Goal, point: np.ndarray) -> Cost:
    cost, _ = goal.problem.evaluate_mapping(goal.problem.space.decode(point))
    assert cost is not None
    return cost


def buffer_bytes(cost: Cost) -> tuple[float, float]:
    """Return the bytes that the area of a mapping counts, of L1 and of L2."""
    used = cost.l2_bytes if cost.l2_used_bytes is None else cost.l2_used_bytes
    return cost.l1_bytes or 0.0, used or 0.0
