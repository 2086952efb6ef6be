"""Masks: which choices leave a valid mapping (docs/masks.md proves them)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env.base.checks import require_integer, require_type
from maestro_env.base.errors import MapSpaceError, quoted
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.mapspace.space import Points

Mask = NDArray[np.bool_]

# As the core marks what is not chosen yet.
_OPEN = -1
# Between blocks of samples Ctrl-C gets through, and memory is bounded.
_BLOCK = 1 << 14


class Masks:
    """Which choices of a parameter leave a valid mapping, given the choices before it.

    A mask never forbids a valid mapping. If masks are complete, they forbid all others: a choice is
    allowed if and only if some valid mapping continues it, so choosing among allowed choices,
    parameter by parameter, ends at a valid mapping. Under the model ``maestro`` they are
    not: they forbid only what is certainly larger than L1 or L2.

    Attributes:
        complete: whether what masks allow is always valid in the end.

    Args:
        problem: whose vectors are masked.

    Raises:
        ArgumentTypeError: no problem.
    """

    def __init__(self, problem: AnyProblem) -> None:
        require_type("problem", problem, AnyProblem, "such as a Problem")
        self.problem = problem
        self.complete = problem.masks_complete
        self._native = problem.native_masks

    def allowed(self, prefix: ArrayLike) -> Mask:
        """Return the choices of the parameter that follows a prefix: bool[its choices].

        All are False if no valid mapping begins with the prefix.

        Args:
            prefix: the choices of the first parameters, int32[k], fewer than the space has.

        Raises:
            MapSpaceError: too many choices, one out of range, or no list of integers.
        """
        point = self._open_point()
        chosen = self._read(prefix)
        point[: len(chosen)] = chosen
        return self._native.allowed(point, len(chosen))

    def independent(self) -> Mask:
        """Return, of all parameters one after the other, the choices that some mapping has.

        The mask is bool[sum of the choices of all parameters]. A choice is False only if all
        mappings that make it are invalid, whatever the other parameters are; what it allows need
        not be valid together.
        """
        point = self._open_point()
        return np.concatenate([self._native.allowed(point, j) for j in range(len(point))])

    def allow(self, points: Points) -> Mask:
        """Return whether masks allow all choices of each of int32[N, D] vectors: bool[N]."""
        return self._native.allows(np.ascontiguousarray(points, dtype=np.int32))

    def sample(self, n: int, rng: np.random.Generator) -> Points:
        """Draw ``n`` vectors, int32[n, D]: parameter by parameter, uniformly from those allowed.

        This is not uniform over valid mappings: one is more likely if its
        choices had fewer alternatives.

        Raises:
            ArgumentTypeError: an argument of a wrong type.
            MapSpaceError: no mapping of the space is valid, or an impossible number.
        """
        require_type("rng", rng, np.random.Generator, "such as numpy.random.default_rng(0)")
        n = require_integer("n", n, MapSpaceError, 0)
        points = np.empty((n, len(self.problem.space.sizes)), dtype=np.int32)
        for start in range(0, n, _BLOCK):
            block = points[start : start + _BLOCK]
            block[:] = self._drawn(rng.random(block.shape))
        return points

    def sample_by(self, generators: Sequence[np.random.Generator]) -> Points:
        """Draw a vector from each generator, int32[N, D], as ``sample`` draws one.

        Raises:
            MapSpaceError: no mapping of the space is valid.
        """
        width = len(self.problem.space.sizes)
        return self._drawn(np.stack([each.random(width) for each in generators]))

    def _drawn(self, uniforms: NDArray[np.float64]) -> Points:
        try:
            return self._native.draw(uniforms)
        except ValueError:
            why = self.problem.why_nothing_fits() or "no mapping is valid"
            raise MapSpaceError(f"{self.problem.layer}: {why}") from None

    def _open_point(self) -> Points:
        return np.full(len(self.problem.space.sizes), _OPEN, dtype=np.int32)

    def _read(self, prefix: ArrayLike) -> Points:
        space = self.problem.space
        most = len(space.sizes) - 1
        try:
            chosen = np.asarray(prefix)
        except ValueError:
            chosen = np.empty(())
        integers = chosen.size == 0 or chosen.dtype.kind in "iu"
        if chosen.ndim != 1 or len(chosen) > most or not integers:
            raise MapSpaceError(
                f"a prefix is {quoted(prefix)}; allowed: a list of at most {most} integers"
            )
        for parameter, choice in zip(space.parameters, chosen.tolist(), strict=False):
            if not 0 <= choice < parameter.choices:
                raise MapSpaceError(
                    f"{parameter.name} = {choice} is not in 0..{parameter.choices - 1}"
                )
        return chosen.astype(np.int32)
