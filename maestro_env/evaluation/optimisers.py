"""An objective as a plain function, for optimisers of other libraries."""

from __future__ import annotations

import math
from collections.abc import Mapping as Values
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MapSpaceError, quoted
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.status import OK, Rows, violations
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.parameter import Parameter, choices_at
from maestro_env.mapspace.space import MapSpace, Points

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
