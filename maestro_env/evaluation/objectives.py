"""Objectives, their lower bounds, and objectives as functions for optimisers of other libraries.

An objective is a product of metrics. The bounds hold for every executable mapping: each MAC is
executed once at peak throughput, and each word enters and leaves each buffer once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping as Values
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from operator import mul
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.checks import by_name, look_up, require_type, tuple_of
from maestro_env.base.errors import ArgumentTypeError, MapSpaceError, quoted
from maestro_env.base.pickling import Recomputed
from maestro_env.evaluation.cost_and_status import OK, Rows, violations
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import Parameter, Points, choices_at
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

Metrics = NDArray[np.float64]
_COLUMN = {name: index for index, name in enumerate(_native.METRICS)}


def latency_bound(layer: Layer, hardware: Hardware) -> float:
    """Return the cycles with every lane busy in every cycle."""
    return -(-layer.macs // (hardware.num_pes * hardware.simd_lanes))


def energy_bound(layer: Layer, hardware: Hardware) -> float:
    """Return the energy in nJ with compulsory traffic alone."""
    inputs = layer.input_words + layer.filter_words
    l1 = 4 * layer.macs + inputs
    l2 = 2 * (inputs + layer.output_words)
    # The energy of off-chip words that a technology has: MAESTRO's model has none.
    of, words = hardware.energies, inputs + layer.output_words
    moved = (of.noc_macs + hardware.technology.offchip_macs) * words
    return of.mac_nj * (layer.macs + of.l1_macs * l1 + of.l2_macs * l2 + moved)


def area_bound(layer: Layer, hardware: Hardware) -> float:
    """Return the area in um^2 with one block of L1 per PE and one of L2."""
    return hardware.area_um2(1, 1)


FIGURE_BOUNDS: Values[str, Callable[[Layer, Hardware], float]] = {
    "latency_cycles": latency_bound,
    "energy_nj": energy_bound,
    "area_um2": area_bound,
}
"""Lower bounds of figures by name."""


@dataclass(frozen=True)
class ProductBound:
    """The product of the lower bounds of some figures, which bounds their product.

    Args:
        factors: names of ``FIGURE_BOUNDS``.
    """

    factors: tuple[str, ...]

    def __call__(self, layer: Layer, hardware: Hardware) -> float:
        return math.prod(FIGURE_BOUNDS[name](layer, hardware) for name in self.factors)


@dataclass(frozen=True)
class Objective(Recomputed):
    """A figure to minimise: a product of metrics.

    Args:
        name: in flags and tables.
        unit: of its values.
        factors: names of ``METRICS``, at least one.
        bound: computes a lower bound, in the same unit; None if there is none.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        UnknownNameError: no such metric.
    """

    name: str
    unit: str
    factors: tuple[str, ...]
    bound: Callable[[Layer, Hardware], float] | None

    def __post_init__(self) -> None:
        for what in ("name", "unit"):
            require_type(f"an objective's {what}", getattr(self, what), str, "as tables show it")
        factors = tuple_of("an objective's factors", self.factors, str, "names of METRICS")
        object.__setattr__(self, "factors", factors)
        if self.bound is not None and not callable(self.bound):
            raise ArgumentTypeError(
                f"an objective's bound is {self.bound!r}; allowed: a function, None"
            )
        for name in self.factors or ("",):
            look_up("metric", name, _COLUMN)

    @property
    def label(self) -> str:
        """What is minimised, as people write it: ``EDP``, ``latency``."""
        return {"edp": "EDP", "ed2p": "ED2P", "throughput": "latency"}.get(self.name, self.name)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The factors as indices into ``METRICS``."""
        return tuple(_COLUMN[name] for name in self.factors)

    def function(self, metrics: Metrics) -> Metrics:
        """Return the values of a batch's metrics [N, M], shape [N]; NaN without a result."""
        return reduce(mul, (metrics[:, column] for column in self.columns))

    def of(self, figures: Values[str, float]) -> float:
        """Return the value for one mapping's figures by name; NaN if a factor is missing."""
        return math.prod((figures.get(name, math.nan) for name in self.factors), start=1.0)


_EDP = ("latency_cycles", "energy_nj")
_ED2P = ("latency_cycles", *_EDP)

OBJECTIVES: Values[str, Objective] = by_name(
    Objective("latency", "cycles", ("latency_cycles",), latency_bound),
    Objective("energy", "nJ", ("energy_nj",), energy_bound),
    Objective("edp", "cycles x nJ", _EDP, ProductBound(_EDP)),
    Objective("area", "um^2", ("area_um2",), area_bound),
)
"""The objectives by name that mappings are reported by."""

OTHERS: Values[str, Objective] = by_name(
    Objective("ed2p", "cycles^2 x nJ", _ED2P, ProductBound(_ED2P)),
    Objective("throughput", "cycles of latency", ("latency_cycles",), latency_bound),
    Objective("power", "mW", ("power_mw",), None),
)
"""Further objectives by name. The most throughput is the least latency, which is the value."""

OBJECTIVE_NAMES = (*OBJECTIVES, *OTHERS)
OBJECTIVE_HELP = f"{', '.join(OBJECTIVE_NAMES)}, or a product such as latency*area"


def _of_csv_energy(objective: Objective) -> Objective:
    """Return an objective with the energy of MAESTRO's CSV in place of ``energy_nj``."""
    if "energy_nj" not in objective.factors:
        return objective
    factors = tuple(f"csv_{name}" if name == "energy_nj" else name for name in objective.factors)
    return Objective(objective.name, objective.unit.replace("nJ", "CSV nJ"), factors, None)


_TOTAL = {**OBJECTIVES, **OTHERS}
_WITH_ENERGY = {"total": _TOTAL, "csv": by_name(*map(_of_csv_energy, _TOTAL.values()))}
ENERGIES = tuple(_WITH_ENERGY)
"""Forms of energy: ``total`` (``energy_nj``) and ``csv`` (``csv_energy_nj``)."""


def find_objective(name: str | Objective, energy: str = "total") -> Objective:
    """Return an objective by name, or the objective itself.

    Args:
        name: of one of ``OBJECTIVES`` or ``OTHERS``, or a product of them and of ``METRICS``,
            such as ``latency*area`` or ``latency_cycles*l2_bytes``.
        energy: form of energy that a name stands for, a name of ``ENERGIES``.

    Raises:
        ArgumentTypeError: neither a text nor an ``Objective``.
        UnknownNameError: no such objective, metric or form of energy.
    """
    registry = look_up("energy", energy, _WITH_ENERGY)
    if isinstance(name, Objective):
        return name
    require_type("objective", name, str, f"one of {', '.join(registry)}, or an Objective")
    parts = [part.strip() for part in name.split("*")]
    if name in registry or (len(parts) == 1 and name not in _COLUMN):
        return look_up("objective", name, registry)
    figures = {**{each: (each,) for each in _COLUMN}, **{n: o.factors for n, o in registry.items()}}
    named = chain.from_iterable(look_up("metric", part, figures) for part in parts)
    # In one order, as the proof of an optimum multiplies them.
    factors = tuple(sorted(named, key=_COLUMN.__getitem__))
    bound = ProductBound(factors) if set(factors) <= FIGURE_BOUNDS.keys() else None
    return Objective(name, "product of metrics", factors, bound)


Place = ArrayLike | Values[str, int | str] | Mapping
"""A vector of D integers, the values of all parameters by name, or a mapping."""

_ABOVE_ALL = 100.0


@runtime_checkable
class Evaluates(Protocol):
    """What an objective asks of a ``Problem``."""

    @property
    def space(self) -> MapSpace: ...

    @property
    def hardware(self) -> Hardware: ...

    def evaluate(self, points: Points) -> Rows: ...

    def evaluate_as_row(self, mapping: Mapping) -> Rows: ...


@dataclass(frozen=True)
class ObjectiveFunction:
    """The objective of a mapping, to be minimised: ``problem.objective("edp")`` makes it.

    A mapping is given as a vector of D integers, as a dict of the values of all parameters by name
    (``MapSpace.from_values``), or as a ``Mapping``. An optimiser of real numbers searches the unit
    cube, whose points ``from_unit`` turns into vectors.

    Args:
        problem: to be searched.
        metric: the objective.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MapSpaceError, UnknownNameError: by the methods, no mapping of the space.
    """

    problem: Evaluates
    metric: Objective

    def __post_init__(self) -> None:
        require_type("problem", self.problem, Evaluates, "a Problem, of a MapSpace")
        require_type("metric", self.metric, Objective, "see find_objective")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The D entries of a vector: name, kind, values, bounds, and whether they are sizes."""
        return self.problem.space.parameters

    def __call__(self, place: Place) -> float:
        """Return the objective in its unit; infinity if the mapping is invalid."""
        return self.evaluate(place)[0]

    def violation(self, place: Place) -> float:
        """Return 0 for a valid mapping, else a positive number that grows with the shortage.

        It is the sum of the missing shares of L1, L2 and PEs (1: twice the capacity is needed), and
        of 1 if something else is wrong.
        """
        return self.evaluate(place)[1]

    def penalised(self, place: Place) -> float:
        """Return the objective's log10, but of an invalid mapping 100 + log10(1 + violation).

        It is for optimisers that know no constraints: any invalid mapping is worse than all valid
        ones, and the worse the more it misses.
        """
        value, violation = self.evaluate(place)
        return _ABOVE_ALL + math.log10(1 + violation) if violation else math.log10(value)

    def evaluate(self, place: Place) -> tuple[float, float]:
        """Return the objective and the violation of one mapping."""
        if isinstance(place, Mapping):
            rows = self.problem.evaluate_as_row(place)
            pes = place.pes
        else:
            rows = self.problem.evaluate(self._vector(place)[np.newaxis])
            pes = 0  # In the space, a cluster never needs more than there are.
        valid = bool(rows.status[0] == OK)
        value = float(self.metric.function(rows.metrics)[0]) if valid else math.inf
        return value, float(violations(rows, self.problem.hardware, pes)[0])

    def from_unit(self, shares: ArrayLike) -> Points:
        """Return the vector, int32[D], at D numbers from 0 to 1; sizes are on a logarithmic scale.

        A number outside of this range counts as the nearer end of it.
        """
        count = len(self.parameters)
        try:
            numbers = np.asarray(shares, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.full(count, math.nan)
        if numbers.shape != (count,) or np.isnan(numbers).any():
            raise MapSpaceError(f"{quoted(shares)} is not a place; allowed: {count} shares, 0 to 1")
        pairs = zip(self.parameters, numbers.clip(0, 1), strict=True)
        return np.array([choices_at(*pair) for pair in pairs], dtype=np.int32)

    def _vector(self, place: ArrayLike | Values[str, int | str]) -> Points:
        space = self.problem.space
        if isinstance(place, Values):
            return space.from_values(place)
        listed: Any = [place]
        point: Points = space.as_points(listed, 1)[0]
        return point
