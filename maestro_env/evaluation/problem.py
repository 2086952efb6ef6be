"""A mapping problem: a map space and the cost model that evaluates its mappings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Mapping as Figures
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env import _native
from maestro_env.accelerators.hardware import PRESETS, Hardware, hardware_distance
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MapSpaceError, ModelError, UnknownNameError
from maestro_env.evaluation.any_problem import AnyProblem, NativeProblem, computed_figures
from maestro_env.evaluation.cost_and_status import (
    METRICS,
    OK,
    STATUSES,
    Cost,
    Rows,
    explain_status,
    violations,
)
from maestro_env.evaluation.models import ABILITIES, DEFAULT_MODEL, find_model, models_with
from maestro_env.evaluation.objectives import (
    FIGURE_BOUNDS,
    Objective,
    ObjectiveFunction,
    find_objective,
)
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import Points, Resize
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace, adopted_levels
from maestro_env.workloads.layer import Layer

AUTO = "auto"
"""The schema ``legal13``, or ``full17`` where only tiles of R and S make a mapping fit."""

_STRIDE_SAMPLES = 2000
_KEPT_SCHEMAS = 100_000


@dataclass(frozen=True)
class Problem(NativeProblem):
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
        if self.space.cuts_windows and "windows" not in model.abilities:
            whole = (s for s in SCHEMAS if not MapSpace(self.layer, self.hardware, s).cuts_windows)
            raise MapSpaceError(
                f"schema '{self.space.schema}' tiles R or S, which {self.model} rejects; "
                f"allowed under {self.model}: {', '.join(whole)}"
            )

    @property
    def hardware(self) -> Hardware:
        return self.space.hardware

    def evaluate_mapping(self, mapping: Mapping) -> tuple[Cost | None, str]:
        require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
        row, status, clusters, _ = self.native_batch.evaluate_mapping(mapping.directives)
        return (None if np.isnan(row[0]) else Cost.from_row(row, clusters)), status

    @property
    def schema(self) -> str:
        return self.space.schema

    @property
    def guarded(self) -> bool:
        """Whether figures that no accelerator could reach are asked to be invalid."""
        return self.guard

    @property
    def seed_text(self) -> str:
        layer, space, hardware = self.layer, self.space, self.hardware
        if hardware == PRESETS["unlimited"]:
            # This preset was once called "paper"; under that name its seeds make the same searches.
            hardware = replace(hardware, name="paper")
        return (
            f"{layer.operator} {layer.dimensions} {layer.stride} {hardware} {space.schema} "
            f"{space.tiles} {self.model} {self.guard}"
        )

    def columns_of(self, objective: Objective) -> tuple[int, ...]:
        """Return the factors of an objective as indices of metrics, which evaluators have checked.

        Every step of an environment asks it.
        """
        return objective.columns

    def bound(self, objective: Objective) -> float | None:
        """Return what no mapping goes below; None without a bound, or where figures are free."""
        self.require_figures(objective)
        free = "guard" in self.abilities and not self.guard
        return objective.bound(self.layer, self.hardware) if objective.bound and not free else None

    def files(self, mapping: Mapping) -> Figures[str, str]:
        """Return what files hold of a mapping: JSON, and MAESTRO's own format."""
        return {**super().files(mapping), ".m": mapping.to_m(self.layer)}

    def moved_bits(self, mapping: Mapping) -> dict[str, float]:
        """Return the bits of main memory for a valid mapping; none under a model without it."""
        cost, _ = self.evaluate_mapping(mapping)
        if cost is None or cost.offchip_read_words is None or cost.offchip_write_words is None:
            return {}
        words = cost.offchip_read_words + cost.offchip_write_words
        return {"main memory": words * self.hardware.word_bytes * 8}

    def missing_bytes(self, point: Points, metrics: NDArray[np.float64]) -> dict[str, int]:
        """Return the bytes that a vector lacks to fit, of ``L1`` (of a PE) and ``L2``."""
        lacking = {
            name: metrics[METRICS.index(field)] - getattr(self.hardware, field)
            for name, field in (("L1", "l1_bytes"), ("L2", "l2_bytes"))
        }
        return {name: int(lack) for name, lack in lacking.items() if lack > 0}

    def holding(self, mapping: Mapping) -> Problem:
        """Return the problem, or one of another schema, whose space has a mapping.

        Raises:
            MapSpaceError: none has it.
        """
        return replace(self, space=self.space.holding(mapping))

    def hardware_distance(self, other: AnyProblem) -> float:
        """Return how far another problem's accelerator is: infinite from other models' spaces."""
        if "levels" not in other.abilities:
            return math.inf
        return hardware_distance(self.hardware, cast(Problem, other).hardware)

    def adopt(self, mapping: ArrayLike | Mapping, source: AnyProblem, resize: Resize) -> Points:
        """Return the vector, int32[D], that is most like a mapping or vector of another problem."""
        space = require(source, "levels", "this transfer").space
        if isinstance(mapping, Mapping):
            mapping = space.encode(mapping)
        return adopted_levels(mapping, space, self.space, resize)

    def evaluate_as_row(self, mapping: Mapping) -> Rows:
        """Evaluate any mapping, from the space or not: a batch of one."""
        require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
        row, status, _, _ = self.native_batch.evaluate_mapping(mapping.directives)
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
        row, status, _, problem = self.native_batch.evaluate_mapping(mapping.directives)
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
        return self.layer.is_convolution and "windows" in self.abilities

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
        return _figures_of(self.model)

    @property
    def lower_bounds(self) -> Figures[str, float]:
        return {name: of(self.layer, self.hardware) for name, of in FIGURE_BOUNDS.items()}

    def violations(self, points: Points, rows: Rows) -> NDArray[np.float64]:
        """Return how much evaluated int32[N, D] vectors lack to be valid, float64[N].

        In the space, a cluster never needs more PEs than there are.
        """
        return violations(rows, self.hardware)

    @property
    def masks_complete(self) -> bool:
        return "masks" in self.abilities

    @property
    def native_masks(self) -> _native.Masks:
        return _native.Masks(self.model, self.layer.native, self.hardware.native, self.space.native)

    @cached_property
    def native_batch(self) -> _native.BatchEvaluator:
        return _native.BatchEvaluator(
            self.model,
            self.layer.native,
            self.hardware.native,
            guarded=self.guard and "guard" in self.abilities,
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


def require(problem: AnyProblem, ability: str, what: str) -> Problem:
    """Return a problem whose model has an ability; those that have one are of two levels.

    Args:
        problem: of any space.
        ability: a name of ``ABILITIES``.
        what: needs it.

    Raises:
        ModelError: the model lacks it.
    """
    if ability not in problem.abilities:
        raise ModelError(
            f"{what} needs {ABILITIES[ability]}, which model {problem.model} does not have; "
            f"allowed: model {', '.join(models_with(ability))}"
        )
    return cast(Problem, problem)
