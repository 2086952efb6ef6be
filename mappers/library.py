"""Mappings of similar layers on similar accelerators, then moves from the best: no learning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from maestro_env.accelerators.hardware import PRESETS, hardware_octaves
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem, require
from maestro_env.evaluation.transfer import KEEPS, OTHER_OPERATOR, Mapped, layer_octaves, transfer
from maestro_env.mappers.agents.archive import Elites
from maestro_env.mappers.agents.team import Heads, refine
from maestro_env.mappers.base import Mapper, setting
from maestro_env.mappers.parts.arrays import Floats, log_uniform
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.known import read_table
from maestro_env.workloads.finding import all_layers

# Of the distance between accelerators beside that between layers: once all of it, once little.
_WEIGHTS = (1.0, 0.1)
# Chance that a move changes two sizes at once.
_PAIRS = 0.5
# Near mappings looked at, and moves drawn, for each that is wanted: some are known already, some
# moves do not fit.
_LOOKED_AT = _DRAWN = 4


@dataclass(frozen=True)
class LibraryConfig:
    """Parameters of the search among similar layers."""

    keep: str = setting("tiles", "what tiles keep: their size or number", allowed=KEEPS)
    near: int = setting(40, "mappings of the nearest problems tried first", most=10**6)
    elites: int = setting(4, "best mappings that moves start from", least=1, most=10**6)
    batch: int = setting(8, "moves between looks at what is best", least=1, most=10**6)


Entry = tuple[Mapped, tuple[str, ...]]
"""A mapped problem, and the factors of the objective that its mapping is good for."""


class Library:
    """Mapped problems, of which the nearest are found fast.

    Args:
        entries: of all mapped problems.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        entries = list(entries)
        self._mapped = [mapped for mapped, _ in entries]
        self._factors = np.array([_key(factors) for _, factors in entries], dtype=object)
        problems = [require(each.problem, "levels", "a library") for each in self._mapped]
        self._operators = np.array([each.layer.operator for each in problems], dtype=object)
        self._layers = np.array([layer_octaves(each.layer) for each in problems])
        self._machines = np.array([hardware_octaves(each.hardware) for each in problems])

    def near(self, problem: Problem, factors: tuple[str, ...]) -> Iterator[Mapped]:
        """Yield mapped problems, near ones first; not the problem itself.

        In turns they are the next nearest one and the next with a near layer, on an accelerator
        that need not be near. Only those of the same objective are taken, if there are any.
        """
        if not self._mapped:
            return
        same = self._factors == _key(factors)
        layers, machines = self.distances(problem)
        wanted = np.flatnonzero((same | ~same.any()) & (layers + machines > 0))
        layers, machines = layers[wanted], machines[wanted]
        orders = [
            wanted[np.argsort(layers + weight * machines, kind="stable")] for weight in _WEIGHTS
        ]
        turns = np.stack(orders, axis=1).ravel()
        _, first = np.unique(turns, return_index=True)
        for index in turns[np.sort(first)]:
            yield self._mapped[index]

    def distances(self, problem: Problem) -> tuple[Floats, Floats]:
        """Return how far the layers and accelerators of all are from a problem's, float64[M] each.

        They are those of ``maestro_env.evaluation.transfer``.
        """
        layers = np.linalg.norm(self._layers - layer_octaves(problem.layer), axis=-1)
        machines = np.linalg.norm(self._machines - hardware_octaves(problem.hardware), axis=-1)
        others = self._operators != problem.layer.operator
        return layers + OTHER_OPERATOR * others, machines


@cache
def known_library() -> Library:
    """Return the library of all optima that the table has."""
    return Library(known_entries())


def known_entries() -> list[Entry]:
    """Return all optima that the table has."""
    layers = {layer.shape: layer for layer in all_layers()}
    entries = []
    for row in read_table():
        hardware = PRESETS.get(row["hardware"])
        if hardware is None:  # It has more memories.
            continue
        space = MapSpace(layers[row["layer"]], hardware, row["schema"], row["tiles"])
        vector = np.array(row["point"].split(), dtype=np.int32)
        entries.append((Mapped(Problem(space), vector), find_objective(row["objective"]).factors))
    return entries


def _key(factors: tuple[str, ...]) -> str:
    """Return what objectives of the same factors share."""
    return "*".join(sorted(factors))


class LibraryMapper(Mapper[LibraryConfig]):
    """Tries what the nearest mapped problems transfer, then moves from the best.

    A transferred mapping that does not fit the buffers takes the nearest choices that do.

    Args:
        config: the settings.
        library: mapped problems; None for the table of known optima. The problem that is searched
            is never taken from it.
    """

    DEFAULT = LibraryConfig()

    def __init__(self, config: LibraryConfig | None = None, library: Library | None = None) -> None:
        super().__init__(config)
        self._library = library

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        require(problem, "levels", "mapper library")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        """Spend ``budget`` evaluations: the start, near mappings, moves."""
        problem = require(evaluator.problem, "levels", "mapper library")
        points, values = self.begin(evaluator, budget)
        search = _LibrarySearch(self.config, problem, evaluator, rng)
        search.learn(points, values)
        library = self._library or known_library()
        near = library.near(problem, evaluator.objective.factors)
        search.evaluate(search.transferred(near, min(self.config.near, budget - search.spent)))
        while search.spent < budget:
            search.evaluate(search.moves(min(self.config.batch, budget - search.spent)))


class _LibrarySearch:
    """The state of one search."""

    def __init__(
        self,
        config: LibraryConfig,
        problem: Problem,
        evaluator: Evaluator,
        rng: np.random.Generator,
    ) -> None:
        self._config, self._problem = config, problem
        self._evaluator, self._rng = evaluator, rng
        self._space = evaluator.space
        self._masks = Masks(evaluator.problem)
        self._heads = Heads(evaluator.space)
        self._elites = Elites(config.elites, len(evaluator.space.parameters))
        self._known: set[int] = set()
        self.spent = 0

    def evaluate(self, points: Points) -> None:
        if len(points):
            self.learn(points, self._evaluator.evaluate(points).values)

    def learn(self, points: Points, values: Floats) -> None:
        self.spent += len(points)
        self._known.update(self._space.identities(points).tolist())
        self._elites.add(self._heads.actions(points), values)

    def transferred(self, near: Iterator[Mapped], n: int) -> Points:
        """Return at most n different mappings that near ones transfer, int32[m, D]."""
        problem, found = self._problem, dict[int, Points]()
        # In a small space few differ.
        for each in islice(near, _LOOKED_AT * n):
            if len(found) >= n:
                break
            point = self._fitted(transfer(each.vector, each.problem, problem, self._config.keep))
            (identity,) = self._space.identities(point[np.newaxis]).tolist()
            if identity not in self._known:
                found.setdefault(identity, point)
        shape = (len(found), len(self._space.parameters))
        return np.array(list(found.values()), dtype=np.int32).reshape(shape)

    def _fitted(self, point: Points) -> Points:
        """Return a vector with the nearest choices that leave a valid mapping, if one does."""
        fitted = point.copy()
        for column, choice in enumerate(point):
            allowed = np.flatnonzero(self._masks.allowed(fitted[:column]))
            if len(allowed):
                fitted[column] = allowed[np.abs(allowed - choice).argmin()]
        return fitted

    def moves(self, n: int) -> Points:
        """Return at most n mappings, one or two parameters from the best; before any, random ones.

        Where all such moves that fit are known, they are random too.
        """
        fresh = log_uniform(self._space, _DRAWN * n, self._rng)
        drawn = self._heads.actions(fresh)
        best = self._elites.actions
        if len(best):
            drawn = refine(best, drawn, self._heads, _PAIRS, self._rng)
        points = self._heads.points(drawn)
        identities, first = np.unique(self._space.identities(points), return_index=True)
        new = [identity not in self._known for identity in identities.tolist()]
        fitting = filter(self._fits, points[np.sort(first[new])])
        chosen = list(islice(fitting, n))
        if chosen:
            return np.array(chosen)
        return self._masks.sample(n, self._rng) if len(best) else points[:n]

    def _fits(self, point: Points) -> bool:
        """Say whether a vector is certain to fit; if masks are not complete, whether it may."""
        return bool(self._masks.allowed(point[:-1])[point[-1]])
