"""A mapping problem: a map space and the cost model that evaluates its mappings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from collections.abc import Mapping as Figures
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MapSpaceError, ModelError, UnknownNameError
from maestro_env.base.pickling import Recomputed
from maestro_env.base.threads import require_threads
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS, find_model
from maestro_env.evaluation.objectives import FIGURE_BOUNDS, Objective, find_objective
from maestro_env.evaluation.optimisers import ObjectiveFunction
from maestro_env.evaluation.status import OK, STATUSES, Rows, explain_status, violations
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import SCHEMAS, MapSpace, Points, Space
from maestro_env.workloads.layer import Layer

Observed = tuple[NDArray[np.float32], float, int, Points, NDArray[np.float64]]
"""An observation, a value, a status code, a vector and its row of metrics."""

AUTO = "auto"
"""The schema ``legal13``, or ``full17`` where only tiles of R and S make a mapping fit."""

_STRIDE_SAMPLES = 2000
_TYPICAL_SAMPLES = 4000
_FIGURE_SAMPLES = 100
_KEPT_SCHEMAS = 100_000


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

    @property
    @abstractmethod
    def native_masks(self) -> _native.MasksOfVectors:
        """What ``Masks`` asks in the C++ core."""

    @property
    @abstractmethod
    def masks_complete(self) -> bool:
        """Whether what masks allow is always valid in the end."""

    @property
    @abstractmethod
    def figures(self) -> frozenset[str]:
        """Names of the metrics that the model computes."""

    @property
    @abstractmethod
    def least(self) -> Figures[str, float]:
        """Lower bounds of figures that the hardware sets, by name."""

    def columns_of(self, objective: Objective) -> tuple[int, ...]:
        """Return the factors of an objective that this model can have, as indices of metrics."""
        return objective.columns

    @abstractmethod
    def evaluate_mapping(self, mapping: Any) -> tuple[Cost | None, str]:
        """Evaluate any mapping, from the space or not: its cost (None without one) and status."""

    @abstractmethod
    def violations(self, points: Points, rows: Rows) -> NDArray[np.float64]:
        """Return how much evaluated int32[N, D] vectors lack to be valid, float64[N].

        A violation is 0 if and only if the mapping is valid, otherwise positive and finite; it
        grows with what is missing of capacities.
        """

    @abstractmethod
    def why_nothing_fits(self) -> str:
        """Say that no mapping fits the memories, and what to change; empty if some mapping fits."""

    def stride_warning(self) -> str | None:
        """Warn where the model miscounts the layer; None where it does not."""
        return None

    @property
    def layer(self) -> Layer:
        """What is mapped."""
        return self.space.layer

    @property
    def hardware(self) -> Hardware | Hierarchy:
        """What it is mapped to."""
        return self.space.hardware

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        """Evaluate int32[N, D] vectors with all figures; ``threads`` do not change the result."""
        threads = require_threads(threads)
        try:
            return Rows(*self._native.evaluate(self.space.native, np.asarray(points), threads))
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
            return self._native.score(self.space.native, points, columns, threads)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def observe(self, vector: ArrayLike, objective: Objective) -> Observed:
        """Evaluate one vector of D integers, as a step of an environment shows it.

        Returns its observation, float32[4]; the value of its objective, infinite unless the vector
        is valid; its status code, which indexes ``STATUSES``; the vector, int32[D]; and its row of
        metrics, float64[M], NaN where there is no figure.
        """
        columns = self.columns_of(objective)
        try:
            return self._native.observe(self.space.native, vector, columns)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def time(self, points: Points) -> NDArray[np.float64]:
        """Return the seconds each of int32[N, D] vectors takes, shape [N], one after the other."""
        try:
            return np.array(self._native.time_points(self.space.native, np.asarray(points)))
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def typical(self, objective: Objective) -> float | None:
        """Return the median objective, in its unit, of the valid ones of 4,000 random mappings.

        None if none of them is valid.
        """
        points = self.space.sample(_TYPICAL_SAMPLES, np.random.default_rng(0))
        values, status = self.score(points, objective)
        valid = values[status == OK]
        return float(np.median(valid)) if len(valid) else None

    @property
    @abstractmethod
    def _native(self) -> _native.BatchEvaluator | _native.HierarchyEvaluator:
        """What evaluates points in the C++ core."""


@dataclass(frozen=True)
class Problem(AnyProblem):
    """A map space with a cost model: what mappers search and environments evaluate.

    Args:
        space: the vectors; it holds layer and hardware too.
        model: name of a cost model.
        guard: whether figures that no accelerator could reach are invalid; without effect on a
            model that has no guard.

    Raises:
        ArgumentTypeError: an argument of a wrong type; the methods raise it too.
        UnknownNameError: no such model.
        ModelError: a model that this build cannot compute, or hardware that it cannot have.
        MapSpaceError: a schema whose mappings the model never accepts; by the methods, an array
            of another shape or type, a vector out of range, or an impossible number of threads.
    """

    space: MapSpace
    model: str = DEFAULT_MODEL
    guard: bool = True

    def __post_init__(self) -> None:
        require_type("space", self.space, MapSpace, "a layer's on some hardware")
        require_type("guard", self.guard, bool, "True or False")
        model = find_model(self.model)
        model.require_hardware(self.hardware)
        if self.space.cuts_windows and not model.cuts_windows:
            whole = (s for s in SCHEMAS if not MapSpace(self.layer, self.hardware, s).cuts_windows)
            raise MapSpaceError(
                f"schema '{self.space.schema}' tiles R or S, which {self.model} rejects; "
                f"allowed under {self.model}: {', '.join(whole)}"
            )

    @property
    def hardware(self) -> Hardware:
        """What it is mapped to."""
        return self.space.hardware

    def evaluate_mapping(self, mapping: Mapping) -> tuple[Cost | None, str]:
        """Evaluate any mapping, from the space or not: its cost (None without one) and status."""
        require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
        row, status, clusters, _ = self._native.evaluate_mapping(mapping.directives)
        return (None if np.isnan(row[0]) else Cost.from_row(row, clusters)), status

    def evaluate_as_row(self, mapping: Mapping) -> Rows:
        """Evaluate any mapping, from the space or not: a batch of one."""
        require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
        row, status, _, _ = self._native.evaluate_mapping(mapping.directives)
        return Rows(np.array([row]), np.array([STATUSES.index(status)], dtype=np.uint8))

    def objective(self, objective: str | Objective) -> ObjectiveFunction:
        """Return an objective as a plain function of a mapping, for optimisers of other libraries.

        Args:
            objective: an ``Objective``, or text for ``find_objective``.

        Raises:
            UnknownNameError: no such objective.
        """
        return ObjectiveFunction(self, find_objective(objective))

    def explain(self, mapping: Mapping) -> str:
        """Explain in one line why a mapping is invalid, or state that it is valid.

        ``maestro_env.explanation`` explains why a valid mapping costs what it does.
        """
        require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
        row, status, _, problem = self._native.evaluate_mapping(mapping.directives)
        cost = None if np.isnan(row[0]) else Cost.from_row(row)
        return explain_status(status, mapping, problem, cost, self.hardware)

    def why_nothing_fits(self) -> str:
        """Say that no mapping fits the buffers, what they must hold, and what to change.

        Empty if some mapping fits, or has no figures.
        """
        if not (exceeded := self._exceeded()):
            return ""
        change = "take schema full17, which cuts R and S too"
        if not self.needs_cut_windows:
            exceeded = self._with_cut_windows._exceeded()
            change = " and ".join(f"{at} to {need:.0f}" for at, need in exceeded.items())
            change = f"raise {change}"
        name, needs = self.hardware.name or "the accelerator", []
        for at, need in exceeded.items():
            held = f"{at[:2].upper()} must hold {need:,.0f} B" + " per PE" * (at == "l1_bytes")
            needs.append(f"{held}, {name} has {getattr(self.hardware, at):,}")
        return f"no mapping fits: {' and '.join(needs)}; {change}"

    @property
    def needs_cut_windows(self) -> bool:
        """Whether no mapping of this schema fits the buffers, but some that cuts R or S does."""
        # Most problems fit, and then need no other space.
        fits = not self._may_cut_windows or not self._exceeded()
        return not fits and not self._with_cut_windows._exceeded()

    @property
    def _may_cut_windows(self) -> bool:
        """Whether there are windows, and the model lets them be cut."""
        return self.layer.is_convolution and find_model(self.model).cuts_windows

    @property
    def _with_cut_windows(self) -> Problem:
        """The problem under ``full17``, or the same one where windows may not be cut."""
        space = replace(self.space, schema="full17")
        return replace(self, space=space) if self._may_cut_windows else self

    def _exceeded(self) -> dict[str, float]:
        """Return the buffers that are too small for the smallest tiles, and the bytes of these."""
        point = np.zeros(len(self.space.parameters), dtype=np.int32)
        if "cluster_size" in self.space.columns:
            # One cluster holds the smallest tile, and its PEs share what is left of it.
            column = self.space.columns["cluster_size"]
            point[column] = self.space.sizes[column] - 1
        row = self.evaluate(point[np.newaxis]).metrics[0]
        needs = {at: float(row[_native.METRICS.index(at)]) for at in ("l1_bytes", "l2_bytes")}
        # NaN, where there is no figure, exceeds nothing.
        return {at: need for at, need in needs.items() if need > getattr(self.hardware, at)}

    def stride_warning(self) -> str | None:
        """Warn, with the measured valid fraction, where the model miscounts the layer."""
        if not (find_model(self.model).miscounts_strides and self.layer.is_strided):
            return None
        rng = np.random.default_rng(0)
        status = self.evaluate(self.space.sample(_STRIDE_SAMPLES, rng)).status
        return (
            f"{self.model} miscounts most mappings of strided layers: {np.mean(status == OK):.1%} "
            f"of {_STRIDE_SAMPLES} random mappings of {self.layer} are valid"
        )

    @property
    def figures(self) -> frozenset[str]:
        """Names of the metrics that the model computes."""
        return _figures_of(self.model)

    @property
    def least(self) -> Figures[str, float]:
        """Lower bounds of figures that the hardware sets, by name."""
        return {name: of(self.layer, self.hardware) for name, of in FIGURE_BOUNDS.items()}

    def violations(self, points: Points, rows: Rows) -> NDArray[np.float64]:
        """Return how much evaluated int32[N, D] vectors lack to be valid, float64[N].

        In the space, a cluster never needs more PEs than there are.
        """
        return violations(rows, self.hardware)

    @property
    def masks_complete(self) -> bool:
        """Whether what masks allow is always valid in the end."""
        return self.model == DEFAULT_MODEL

    @property
    def native_masks(self) -> _native.Masks:
        """What ``Masks`` asks in the C++ core."""
        return _native.Masks(self.model, self.layer.native, self.hardware.native, self.space.native)

    @cached_property
    def _native(self) -> _native.BatchEvaluator:
        return _native.BatchEvaluator(
            self.model,
            self.layer.native,
            self.hardware.native,
            guarded=self.guard and find_model(self.model).exploitable,
        )


def find_schema(
    schema: str,
    layers: Iterable[Layer],
    hardware: Hardware,
    tiles: str = "integers",
    model: str = DEFAULT_MODEL,
) -> str:
    """Return the name of a schema, or what ``auto`` stands for: one schema for all layers.

    Raises:
        UnknownNameError: no such schema, kind of tiles or model.
    """
    name, colon, kept = schema.partition(":")
    if name not in (AUTO, *SCHEMAS):
        raise UnknownNameError("schema", name, (AUTO, *SCHEMAS))
    if name != AUTO:
        return schema
    name = find_model(model).name
    spaces = (MapSpace(layer, hardware, tiles=tiles) for layer in layers)
    cut = any(_needs_cut_windows(each.layer, each.hardware, each.tiles, name) for each in spaces)
    return f"{'full17' if cut else 'legal13'}{colon}{kept}"


# A sweep asks once to check all its problems, and once for every search of them.
@lru_cache(_KEPT_SCHEMAS)
def _needs_cut_windows(layer: Layer, hardware: Hardware, tiles: str, model: str) -> bool:
    return Problem(MapSpace(layer, hardware, tiles=tiles), model).needs_cut_windows


@cache
def _figures_of(model: str) -> frozenset[str]:
    layer = Layer("CONV", {"K": 4, "C": 4, "Y": 6, "X": 6, "R": 3, "S": 3})
    return computed_figures(Problem(MapSpace(layer, Hardware(16)), model))


def computed_figures(problem: AnyProblem) -> frozenset[str]:
    """Return the names of the metrics that some of 100 random mappings have."""
    rows = problem.evaluate(problem.space.sample(_FIGURE_SAMPLES, np.random.default_rng(0)))
    computed = ~np.isnan(rows.metrics).all(axis=0)
    return frozenset(np.array(_native.METRICS)[computed].tolist())


def require_two_levels(problem: AnyProblem, what: str) -> Problem:
    """Return a problem of mappings of two levels.

    Args:
        problem: of any space.
        what: cannot do with others.

    Raises:
        ModelError: another one.
    """
    if not isinstance(problem, Problem):
        raise ModelError(
            f"{what} needs mappings of two levels, which model {problem.model} does not have; "
            f"allowed: model {', '.join(MODELS)}"
        )
    return problem
