"""A problem under any cost model: what mappers, evaluators and environments ask of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping as Figures
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env import _native
from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MapSpaceError, ModelError
from maestro_env.base.parallelism import require_threads
from maestro_env.base.pickling import Recomputed
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.cost_and_status import METRICS, OK, STATUSES, Cost, Rows
from maestro_env.evaluation.models import MODELS, find_model
from maestro_env.evaluation.objectives import Objective
from maestro_env.mapspace.space import Points, Resize, Space, adopted
from maestro_env.workloads.layer import Layer

Observed = tuple[NDArray[np.float32], float, int, Points, NDArray[np.float64]]
"""An observation, a value, a status code, a vector and its row of metrics."""

_TYPICAL_SAMPLES = 4000
_FIGURE_SAMPLES = 100


@dataclass(frozen=True)
class AnyProblem(Recomputed, ABC):
    """A space of vectors with a cost model: all that mappers and evaluators need to know.

    Args:
        space: the vectors; it holds layer and hardware too.

    Raises:
        ArgumentTypeError: by the methods, an argument of a wrong type.
        MapSpaceError: by the methods, an array of another shape or type, a vector out of range, or
            an impossible number of threads.
    """

    space: Space

    @property
    @abstractmethod
    def model(self) -> str:
        """Name of the cost model."""

    @abstractmethod
    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        """Evaluate int32[N, D] vectors with all figures; ``threads`` do not change the result."""

    @property
    def native_masks(self) -> _native.MasksOfVectors:
        """What ``Masks`` asks in the C++ core.

        Raises:
            ModelError: the model has no masks.
        """
        others = ", ".join(name for name in MODELS if name != self.model)
        raise ModelError(f"model {self.model} has no masks; allowed: {others}")

    @property
    def masks_complete(self) -> bool:
        """Whether what masks allow is always valid in the end."""
        return False

    @cached_property
    def figures(self) -> frozenset[str]:
        """Names of the metrics that the model computes: those that some random mapping has."""
        return computed_figures(self)

    @property
    def lower_bounds(self) -> Figures[str, float]:
        """Lower bounds of figures that the hardware sets, by name."""
        return {}

    def columns_of(self, objective: Objective) -> tuple[int, ...]:
        """Return the factors of an objective as indices of metrics, if the model has them all."""
        self.require_figures(objective)
        return objective.columns

    def require_figures(self, objective: Objective) -> None:
        """Refuse an objective that is not computed.

        Raises:
            ModelError: the model does not compute one of its factors.
        """
        if not self.figures.issuperset(objective.factors):
            missing = next(each for each in objective.factors if each not in self.figures)
            raise ModelError(
                f"objective {objective.name} needs {missing}, which model {self.model} does not "
                f"compute for {self.hardware.name or 'this accelerator'}; allowed: another "
                f"objective or model{self.more_figures}"
            )

    more_figures: ClassVar[str] = ""
    """What else has more figures, as that message ends."""

    def evaluate_mapping(self, mapping: Any) -> tuple[Cost | None, str]:
        """Evaluate any mapping, from the space or not: its cost (None without one) and status."""
        rows = self.evaluate(self.space.encode(mapping)[np.newaxis])
        (row,), (status,) = rows.metrics, rows.status
        return (None if np.isnan(row[0]) else Cost.from_row(row.tolist())), STATUSES[status]

    def violations(self, points: Points, rows: Rows) -> NDArray[np.float64]:
        """Return how much evaluated int32[N, D] vectors lack to be valid, float64[N].

        A violation is 0 if and only if the mapping is valid, otherwise positive and finite; it
        grows with what is missing of capacities.
        """
        lacking: NDArray[np.float64] = (rows.status != OK).astype(np.float64)
        return lacking

    def why_nothing_fits(self) -> str:
        """Say that no mapping fits the memories, and what to change; empty if some mapping fits."""
        return ""

    def stride_warning(self) -> str | None:
        """Warn where the model miscounts the layer; None where it does not."""
        return None

    @property
    def abilities(self) -> frozenset[str]:
        """What its model can do, names of ``ABILITIES``."""
        return find_model(self.model).abilities

    @property
    def schema(self) -> str:
        """The schema of the map space; empty where there is but one space of a layer."""
        return ""

    @property
    def guarded(self) -> bool:
        """Whether figures that no accelerator could reach are invalid, where a model has such."""
        return False

    @property
    def seed_text(self) -> str:
        """What tells the random streams of this problem's searches from those of others."""
        layer = self.layer
        facts = (layer.operator, layer.dimensions, layer.stride, self.hardware, self.model)
        return " ".join(map(str, facts))

    def bound(self, objective: Objective) -> float | None:
        """Return what no mapping goes below, in the objective's unit; None without a bound.

        Raises:
            ModelError: the model does not compute the objective.
        """
        self.require_figures(objective)
        bound = math.prod(self.lower_bounds.get(name, math.nan) for name in objective.factors)
        return bound if math.isfinite(bound) else None

    def show(self, mapping: Any) -> str:
        """Return a mapping as people read it, in lines."""
        return str(mapping)

    def files(self, mapping: Any) -> Figures[str, str]:
        """Return what files hold of a mapping, by ending."""
        return {".json": self.space.json_of(mapping)}

    def moved_bits(self, mapping: Any) -> dict[str, float]:
        """Return the bits that memories send and take for a valid mapping, by name."""
        return {}

    def real(self, mapping: Any) -> RealFigures:
        """Return what one execution of a valid mapping takes in real units, as far as is known.

        Of accelerators with two buffers, main memory alone has a bandwidth.
        """
        cost, _ = self.evaluate_mapping(mapping)
        assert cost is not None
        return RealFigures.of(
            *(cost.latency_cycles, cost.energy_nj, self.layer.macs, self.hardware.clock_mhz),
            self.moved_bits(mapping),
        )

    def missing_bytes(self, point: Points, metrics: NDArray[np.float64]) -> dict[str, int]:
        """Return the bytes that a vector lacks to fit, by memory; ``metrics`` are its own."""
        return {}

    def holding(self, mapping: Any) -> AnyProblem:
        """Return the problem, or one like it, whose space has a mapping.

        Raises:
            MapSpaceError: none has it.
        """
        return self

    def hardware_distance(self, other: AnyProblem) -> float:
        """Return how far another problem's accelerator is, in octaves.

        It is infinite if no mapping can be adopted from there, as between unlike memories.
        """
        alike = self.hardware == other.hardware and self._dims == other._dims
        return 0.0 if alike else math.inf

    def adopt(self, mapping: Any, source: AnyProblem, resize: Resize) -> Points:
        """Return the vector, int32[D], that is most like a vector of another problem.

        Raises:
            ModelError: nothing can be adopted from that problem.
        """
        if math.isinf(self.hardware_distance(source)):
            raise ModelError(
                f"nothing can be transferred from {source.layer} on {source.hardware.name} to "
                f"{self.layer} on {self.hardware.name}; allowed: layers of the same dimensions, on "
                "the same accelerator"
            )
        return adopted(mapping, source.space, self.space, resize)

    @property
    def _dims(self) -> list[str]:
        return [*self.space.extents]

    @property
    def layer(self) -> Layer:
        """What is mapped."""
        return self.space.layer

    @property
    def hardware(self) -> Accelerator:
        """What it is mapped to."""
        return self.space.hardware

    def score(
        self, points: Points, objective: Objective, threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Evaluate int32[N, D] vectors only for their objective.

        Returns values, float64[N], infinite unless the vector is valid, and status codes, uint8[N].
        Both are those of ``evaluate``.
        """
        self.require_figures(objective)
        rows = self.evaluate(points, threads)
        return np.where(rows.status == OK, objective.function(rows.metrics), np.inf), rows.status

    def observe(self, vector: ArrayLike, objective: Objective) -> Observed:
        """Evaluate one vector of D integers, as a step of an environment shows it.

        Returns its observation, float32[4]; the value of its objective, infinite unless the vector
        is valid; its status code, which indexes ``STATUSES``; the vector, int32[D]; and its row of
        metrics, float64[M], NaN where there is no figure.
        """
        self.require_figures(objective)
        listed: Any = [vector]
        points = self.space.as_points(listed, 1)
        rows = self.evaluate(points)
        value = objective.function(rows.metrics)[0] if rows.status[0] == OK else math.inf
        seen = _native.observations(rows.metrics)[0]
        return seen, float(value), int(rows.status[0]), points[0], rows.metrics[0]

    def time(self, points: Points) -> NDArray[np.float64]:
        """Return the seconds each of int32[N, D] vectors takes, shape [N], one after the other."""
        found = []
        for point in points:
            began = perf_counter()
            self.evaluate(point[np.newaxis])
            found.append(perf_counter() - began)
        return np.array(found)

    def typical(self, objective: Objective) -> float | None:
        """Return the median objective, in its unit, of the valid ones of 4,000 random mappings.

        None if none of them is valid.
        """
        points = self.space.sample(_TYPICAL_SAMPLES, np.random.default_rng(0))
        values, status = self.score(points, objective)
        valid = values[status == OK]
        return float(np.median(valid)) if len(valid) else None


class NativeProblem(AnyProblem):
    """A problem whose vectors the C++ core evaluates."""

    @property
    @abstractmethod
    def native_batch(self) -> _native.BatchEvaluator | _native.HierarchyBatchEvaluator:
        """What evaluates points in the core."""

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        threads = require_threads(threads)
        try:
            return Rows(*self.native_batch.evaluate(self.space.native, np.asarray(points), threads))
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def score(
        self, points: Points, objective: Objective, threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Evaluate int32[N, D] vectors only for their objective.

        Returns values, float64[N], infinite unless the vector is valid, and status codes, uint8[N].
        Both are those of ``evaluate``, and take less time: no other figures are written, and a
        mapping that exceeds a buffer may have none.
        """
        threads = require_threads(threads)
        require_type("objective", objective, Objective, "see find_objective")
        points, columns = np.asarray(points), self.columns_of(objective)
        try:
            return self.native_batch.score(self.space.native, points, columns, threads)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def observe(self, vector: ArrayLike, objective: Objective) -> Observed:
        columns = self.columns_of(objective)
        try:
            return self.native_batch.observe(self.space.native, vector, columns)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def time(self, points: Points) -> NDArray[np.float64]:
        try:
            return np.array(self.native_batch.time_points(self.space.native, np.asarray(points)))
        except ValueError as error:
            raise MapSpaceError(str(error)) from None


def computed_figures(problem: AnyProblem) -> frozenset[str]:
    """Return the names of the metrics that some of 100 random mappings have."""
    rows = problem.evaluate(problem.space.sample(_FIGURE_SAMPLES, np.random.default_rng(0)))
    computed = ~np.isnan(rows.metrics).all(axis=0)
    return frozenset(np.array(METRICS)[computed].tolist())
