"""Proposals of a prior: mappings that a policy, trained on other problems, expects to be good.

The core computes the networks of the policy, so that no PyTorch is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.errors import BudgetError, MapSpaceError, quoted
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.observations_and_rewards import context
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.file import (
    SHIPPED,
    WAY_OUT,
    PriorFile,
    PriorFileError,
    StoredArrays,
    Widths,
    read_prior,
    shapes,
)

DECISIONS: int = _native.PRIOR_DECISIONS
"""Kinds of decisions, each with a network of its own."""

STATE: int = _native.PRIOR_STATE
"""Numbers that describe what is decided so far."""

FEATURES: int = _native.PRIOR_FEATURES
"""Numbers that describe an option."""

OPTIONS: int = _native.PRIOR_OPTIONS
"""The most options that a decision has."""

Drawn = tuple[Points, NDArray[np.float64]]
"""Vectors, int32[N, D], and logarithms of their probabilities, float64[N]."""

Trace = tuple[NDArray[Any], ...]
"""Decisions that lead to vectors (``Proposer.trace``)."""


class Networks:
    """The networks of a policy.

    Args:
        arrays: their weights by name, float32.

    Raises:
        ValueError: arrays that are missing, of another shape, or too many.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        self.native = _native.PriorNetworks(dict(arrays))


class Proposer:
    """Draws mappings of a problem from a policy that sees layer, hardware and objective.

    What is proposed is valid where masks are complete (``maestro_env.Masks``).

    Args:
        problem: to be mapped.
        objective: to be minimised.

    Raises:
        MapSpaceError: no mapping of the space fits the buffers.
    """

    def __init__(self, problem: Problem, objective: Objective) -> None:
        space = problem.space
        seen = context(space.layer, space.hardware, objective)
        try:
            self.native = _native.PriorProposer(
                problem.model, space.layer.native, space.hardware.native, space.native, seen
            )
        except ValueError as error:
            raise MapSpaceError(problem.why_nothing_fits() or str(error)) from None

    def greedy(self, networks: Networks) -> Drawn:
        """Return the mapping whose decisions are each the likeliest, as ``draw`` does."""
        return self.native.propose(networks.native, np.zeros((1, self.native.steps)), 0.0)

    def draw(
        self, networks: Networks, n: int, rng: np.random.Generator, temperature: float = 1.0
    ) -> Drawn:
        """Draw ``n`` mappings, some more than once; the higher the temperature, the more differ.

        Returns vectors, int32[n, D], and logarithms of their probabilities, float64[n].
        """
        uniforms = rng.random((n, self.native.steps))
        return self.native.propose(networks.native, uniforms, temperature)

    def nearest(self, points: Points) -> Points:
        """Return, of int32[N, D] vectors, the nearest ones that a policy can propose."""
        return self.native.trace(np.ascontiguousarray(points))[0]

    def trace(self, points: Points) -> Trace:
        """Return the decisions that lead to int32[N, D] vectors, or near them, row by row.

        Rows are those that leave a choice: which vector each is of, int32[R], the decision, what
        is chosen, the number of options, the state before it, float32[R, S], and the features of
        all options of all rows, float32[T, F].
        """
        return self.native.trace(np.ascontiguousarray(points))[1:]


# What one part in common with a mapping ahead costs, in logarithms of probabilities.
_COMMON = 2.0
# So many places are chosen one after the other, which takes time.
_PLACES = 256


def varied(space: MapSpace, points: Points, logarithms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order of mappings: the first, then always the one that is likeliest by now.

    A mapping becomes less likely with every part that it has in common with one ahead of it. A
    policy that is wrong about one part, such as the parallel loops, is wrong about it in all of its
    likeliest mappings.

    Args:
        space: of the mappings.
        points: int32[N, D], none twice.
        logarithms: of the probabilities with which a policy proposes them, float[N].

    Returns:
        Rows of ``points``, int64[N].
    """
    return _native.varied(points, _parts(space), logarithms, _COMMON, _PLACES)


def _parts(space: MapSpace) -> list[list[int]]:
    """Return the columns of the parallel loops, orders, L2 tiles and L1 tiles."""
    columns: dict[tuple[str, str], list[int]] = {}
    for name, column in space.columns.items():
        kind = space.parameter(name).kind
        level = name[:2] if kind == "tile" else ""
        columns.setdefault((kind, level), []).append(column)
    columns.pop(("cluster", ""), None)
    return list(columns.values())


class Variants:
    """Makes variants of vectors of a space.

    A variant differs from its vector by one of these changes: a size is scaled; two sizes are
    scaled by the same factor, in the same or in opposite directions, as where a buffer is full one
    tile can grow only if another shrinks; a size makes a few pieces more or less, all as even as
    they can be; a loop moves to another place; a level is parallel over another dimension.
    """

    def __init__(self, space: MapSpace) -> None:
        extents = list(space.extents.values())
        self._native = _native.Variants(space.native, extents, space.hardware.num_pes)

    def draw(self, best: NDArray[np.integer], n: int, rng: np.random.Generator) -> Points:
        """Return ``n`` variants of int[E, D] vectors, the best first, int32[n, D].

        The better a vector the more variants it has.

        Raises:
            ValueError: no vectors of the space, or none of its parameters is a size.
        """
        return self._native.draw(best, n, rng.bit_generator.capsule)


SAMPLES = 10
"""How many proposals a search starts from that pays for each."""

PROPOSALS = 200
"""How many proposals a proof begins with."""

# So many at least are drawn at once.
_POOL = 256
# How often what repeats is drawn again.
_ATTEMPTS = 4


@dataclass(frozen=True, eq=False)
class Prior:
    """A trained policy: its file and its networks."""

    file: PriorFile
    networks: Networks


def load_prior(path: Path | str = "") -> Prior:
    """Read a prior; no path for the one of the package.

    Raises:
        PriorFileError: a file that cannot be used.
    """
    return _read(path) if path else _shipped()


@cache
def _shipped() -> Prior:
    return _read(SHIPPED)


def _read(path: Path | str) -> Prior:
    file = read_prior(path)
    if problem := _misfit(file.arrays):
        raise PriorFileError(f"the prior {path} cannot be used: {problem}; {WAY_OUT}")
    try:
        return Prior(file, Networks(file.arrays))
    except ValueError as error:
        raise PriorFileError(f"the prior {path} cannot be used: {error}; {WAY_OUT}") from None


def _misfit(arrays: StoredArrays) -> str | None:
    """Say why arrays are no networks of this version; None if they are."""
    given = {name: array.shape for name, array in arrays.items()}
    widths = Widths(*(given.get(name, (0,))[-1] for name in ("bias", "mixed_bias")))
    expected = shapes(widths)
    for name in sorted({*given, *expected}):
        if name not in given:
            return f"its array {quoted(name)} is missing"
        if name not in expected:
            return f"its array {quoted(name)} is none of this version"
        if given[name] != expected[name]:
            return (
                f"its array {quoted(name)} has the shape {given[name]}; "
                f"allowed in this version: {expected[name]}"
            )
    return None


class Proposals:
    """The proposals of a prior for one problem, none twice: the likeliest, then others that differ.

    Args:
        prior: whose policy proposes.
        problem: to be mapped.
        objective: to be minimised.
    """

    def __init__(self, prior: Prior, problem: Problem, objective: Objective) -> None:
        self._networks, self._space = prior.networks, problem.space
        self._proposer: Proposer | None = None
        # By their identities.
        self._known: set[int] = set()
        self._waiting = np.empty((0, len(self._space.sizes)), dtype=np.int32)
        with suppress(MapSpaceError):  # No mapping fits.
            self._proposer = Proposer(problem, objective)

    def draw(self, n: int, rng: np.random.Generator, temperature: float = 1.0) -> Points:
        """Return ``n`` new mappings, int32[n, D]; fewer if most of those drawn are known."""
        found = self.new(self._waiting, n)
        for _ in range(_ATTEMPTS):
            if len(found) == n or self._proposer is None:
                break
            size = max(n, _POOL)
            drawn, logarithms = self._drawn(self._proposer, size, rng, temperature)
            self._waiting = drawn[varied(self._space, drawn, logarithms)]
            found = np.concatenate([found, self.new(self._waiting, n - len(found))])
        return found

    def pool(self, rng: np.random.Generator) -> Points:
        """Return the likeliest mapping, then those drawn at once, int32[N, D], none twice."""
        if self._proposer is None:
            return self._waiting
        return self._drawn(self._proposer, _POOL, rng, 1.0)[0]

    def _drawn(
        self, proposer: Proposer, size: int, rng: np.random.Generator, temperature: float
    ) -> tuple[Points, NDArray[np.float64]]:
        """Draw many, each once, with the logarithms of their probabilities."""
        greedy, its_logarithm = proposer.greedy(self._networks)
        drawn, logarithms = proposer.draw(self._networks, size, rng, temperature)
        points = np.concatenate([greedy, drawn])
        _, first = np.unique(self._space.identities(points), return_index=True)
        first.sort()
        return points[first], np.concatenate([its_logarithm, logarithms])[first]

    def use(self, networks: Networks) -> None:
        """Draw from other networks from now on."""
        self._networks = networks
        self._waiting = self._waiting[:0]

    def new(self, points: Points, most: int | None = None) -> Points:
        """Return the first of int32[N, D] vectors whose mappings are not known, and know them."""
        rows: list[int] = []
        most = len(points) if most is None else most
        for row, identity in enumerate(self._space.identities(points).tolist()):
            if len(rows) < most and identity not in self._known:
                self._known.add(identity)
                rows.append(row)
        return points[rows]


def likeliest(
    problem: Problem, objective: Objective, samples: int = SAMPLES, prior: Prior | None = None
) -> Points:
    """Return what a prior expects to be good, without a look at the cost model.

    Args:
        problem: to be mapped.
        objective: to be minimised.
        samples: how many mappings.
        prior: whose policy proposes; None for the package's.

    Returns:
        Vectors int32[N, D], the likeliest mapping first, none twice: fewer than asked for where the
        policy has no more, none where no mapping fits. They depend on the problem alone.

    Raises:
        PriorFileError: the package's file cannot be used.
    """
    proposals = Proposals(prior or load_prior(), problem, objective)
    return proposals.draw(samples, np.random.default_rng(0))


def propose(
    problems: Sequence[Problem],
    objectives: Iterable[Objective],
    samples: int = SAMPLES,
    prior: Prior | None = None,
) -> list[Points]:
    """Propose mappings of many problems, such as all layers of a network: the best of a pool.

    A pool is what is drawn at once, in the time that one takes. All of it is evaluated.

    Args:
        problems: to be mapped.
        objectives: to be minimised, one a problem.
        samples: how many mappings of each.
        prior: whose policy proposes; None for the package's.

    Returns:
        Vectors of each problem, int32[N, D], the best mapping first, as ``likeliest`` has them. Of
        more than the pool has, those of ``likeliest``.

    Raises:
        BudgetError: fewer than none.
        PriorFileError: the package's file cannot be used.
    """
    if samples < 0:
        raise BudgetError(f"{samples} proposals; allowed: 0 or more")
    prior, found = prior or load_prior(), []
    for problem, objective in zip(problems, objectives, strict=True):
        points = Proposals(prior, problem, objective).pool(np.random.default_rng(0))
        if len(points) < samples:
            points = likeliest(problem, objective, samples, prior)
        values, _ = problem.score(points, objective)
        found.append(points[values.argsort(kind="stable")[:samples]])
    return found
