"""The search for one layer of a network, kept as a record in a file of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.base.checks import require_integer
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.fronts import FIGURES, Front, FrontEvaluator
from maestro_env.evaluation.models import MODELS
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.experiments.search.cells import improvements
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.library import Start
from maestro_env.experiments.search.named_mappers import require_fit
from maestro_env.experiments.search.searches import run_search
from maestro_env.experiments.shell.files import distinct_name
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.progress import best_note
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.records import Record, Show, Versions
from maestro_env.mappers import is_own
from maestro_env.mapspace.space import Points
from maestro_env.optimum.descent import descent, follow
from maestro_env.optimum.known import optimum_in_table
from maestro_env.optimum.lines import powers_of
from maestro_env.optimum.search import OptimumError
from maestro_env.optimum.solving import Limits, opening, require_search, search_for, solving
from maestro_env.prior.proposals import PROPOSALS

_PROPOSING, _SEARCHING = "prior", "search"
OF_ANY_MEMORIES: Mapping[str, Any] = {"samples": 2_000, "nodes": 500, "front": 2_000}
"""Settings under the model ``hierarchy``, whose proofs take longer; samples are those of a mapper.
"""


@dataclass(frozen=True)
class SearchSettings:
    """How a layer is mapped.

    Args:
        mapper: its name; None for a proof, with two buffers after proposals of the prior.
        samples: evaluations of its search; proposals.
        nodes: boxes of mappings that a proof may take.
        front: evaluations or proposals for latency and for energy, each.
        seed: of the mapper's searches.

    Raises:
        UsageError, ArgumentTypeError: no such number; the message says what is allowed.
    """

    mapper: str | None = None
    samples: int = PROPOSALS
    nodes: int = 1_000_000
    front: int = PROPOSALS
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("nodes", 0), ("front", 0), ("seed", 0)):
            require_integer(name, getattr(self, name), UsageError, least)

    @classmethod
    def of(cls, model: str, **given: Any) -> SearchSettings:
        """Return settings, where nothing or None is given the defaults under a cost model.

        With two buffers the default of ``front`` is the number of samples.
        """
        defaults = (
            {"samples": PROPOSALS} if "levels" in MODELS[model].abilities else OF_ANY_MEMORIES
        )
        named = {name: value for name, value in given.items() if value is not None}
        settings = {**defaults, **named}
        return cls(**{"front": settings["samples"], **settings})

    def require_fit(self, goals: Sequence[Goal]) -> None:
        """Refuse layers that cannot be mapped so.

        Raises:
            ModelError: the mapper, or the proof, does not know such mappings.
            UsageError: no energies are known, of which fronts are too; or the objective has other
                factors than latency and energy, and so is no product of sums over layers.
        """
        problem, objective = goals[0].problem, goals[0].objective
        if sum(powers_of(objective)) < len(objective.factors):
            raise UsageError(
                f"objective {objective.name}: allowed for a network: latency, energy, and products "
                "of them such as edp, ed2p"
            )
        if "energy_nj" not in problem.figures:
            raise UsageError(
                f"model {problem.model} knows no energies of "
                f"{problem.hardware.name or 'the accelerator'}; allowed for a network: a model and "
                "an accelerator with energies"
            )
        if self.mapper is not None:
            require_fit([self.mapper], goals)
        elif "levels" not in problem.abilities:
            require_search(problem, objective)


@dataclass(frozen=True, eq=False)
class SearchedLayer:
    """What the search for a layer has found.

    Args:
        goal: what it was after.
        front: of all samples; empty if no mapping is known to be valid.
        bound: no mapping has a lower value of the objective; None where none is known.
        found_by: the mapper, ``table`` for the table of known optima, ``optimum`` for a proof, or
            ``search`` for one on any memories that left a gap.
        samples: mappings evaluated.
        nodes: boxes of mappings that a proof looked into.
        improvements: samples of the first search that found a new best, counted from 1, and its
            value; of a proof the best of every batch; none if the table had it.
        versions: of what computed it.
    """

    goal: Goal
    front: Front
    bound: float | None
    found_by: str
    samples: int
    nodes: int
    improvements: list[tuple[int, float]] = field(default_factory=list)
    versions: Versions = field(default_factory=dict)

    @cached_property
    def values(self) -> Floats:
        """The objective of every row of the front, float64[F]."""
        return self.goal.problem.score(self.front.points, self.goal.objective)[0]

    @cached_property
    def best(self) -> int | None:
        """The row of the front with the least value; None if no mapping is known to be valid."""
        return int(self.values.argmin()) if len(self.values) else None

    @property
    def gap(self) -> float:
        """How far the best is above the bound, as a share of it; infinite without either."""
        if self.best is None or not self.bound:
            return math.inf
        return float(self.values[self.best]) / self.bound - 1

    def to_json(self) -> dict[str, Any]:
        rows = zip(self.front.figures.tolist(), self.front.points.tolist(), strict=True)
        return {
            "bound": self.bound,
            "found_by": self.found_by,
            "samples": self.samples,
            "nodes": self.nodes,
            "improvements": self.improvements,
            "front": [[*figures, vector] for figures, vector in rows],
        }


@dataclass(frozen=True)
class LayerRecord(Record[SearchedLayer]):
    """The search for a layer, with all a process needs to run it or to read its record.

    Args:
        name: of the layer.
        goal: its problem and objective.
        settings: how it is mapped.
        start: vectors that it begins with.
        threads: of the batch evaluation; results do not depend on it.
    """

    name: str
    goal: Goal
    settings: SearchSettings
    start: Start = ()
    threads: int = 1

    def __str__(self) -> str:
        return f"{self.name}, {self.goal.objective.name}"

    @property
    def path(self) -> Path:
        return self.directory / "layers" / f"{distinct_name(self.name)}.json"

    @property
    def runs_own_code(self) -> bool:
        return self.settings.mapper is None or is_own(self.settings.mapper)

    def facts(self) -> dict[str, Any]:
        return {**self.goal.describe(), "settings": asdict(self.settings)}

    def compute(self, show: Show) -> dict[str, Any]:
        return _LayerSearch(self, show).run().to_json()

    def parse(self, entry: dict[str, Any]) -> SearchedLayer:
        front, problem = entry["front"], self.goal.problem
        found = self.no_front
        if front:
            points = problem.space.as_points([each[2] for each in front], len(front))
            found = Front(points, np.array([each[:2] for each in front], dtype=np.float64))
        rows = problem.evaluate(found.points)
        if rows.status.any() or not (rows.metrics[:, FIGURES] == found.figures).all():
            raise ValueError("its mappings have other figures now")
        rest = ("bound", "found_by", "samples", "nodes", "improvements", "versions")
        return SearchedLayer(self.goal, found, **{name: entry[name] for name in rest})

    @property
    def no_front(self) -> Front:
        """A front without mappings."""
        vectors = np.empty((0, len(self.goal.problem.space.parameters)), dtype=np.int32)
        return Front(vectors, np.empty((0, 2)))


class _LayerSearch:
    """A search under way: the front of all its samples, and how many they are."""

    def __init__(self, work: LayerRecord, show: Show) -> None:
        self._work, self._show = work, show
        self._front = work.no_front
        self._samples = 0
        self._improvements: list[tuple[int, float]] = []

    def run(self) -> SearchedLayer:
        """Find good mappings, prove the optimum unless a mapper is named, and widen the front."""
        goal, settings = self._work.goal, self._work.settings
        wide = settings.front and all(powers_of(goal.objective))
        others = [OBJECTIVES[name] for name in ("latency", "energy") if wide]
        if settings.mapper:
            # It shows what it can do alone.
            found_by, nodes, bound = settings.mapper, 0, goal.lower_bound
            self._search(settings.mapper, goal.objective, settings.samples)
            for other in others:
                self._search(settings.mapper, other, settings.front)
        else:
            found_by, nodes, bound = self._solve()
            for other in others:
                self._widen(other)
        bound = bound if bound and math.isfinite(bound) else None
        counts = (self._samples, nodes, self._improvements)
        return SearchedLayer(goal, self._front, bound, found_by, *counts)

    def _solve(self) -> tuple[str, int, float | None]:
        """Evaluate proposals, then rule out all that is not better, until the proof or the limit.

        Returns who found the best mapping, the boxes of mappings looked into, and the bound.
        """
        goal, settings, threads = self._work.goal, self._work.settings, self._work.threads
        evaluator = FrontEvaluator(goal.problem, goal.objective, threads=threads)
        known = optimum_in_table(goal.problem, goal.objective)
        if known is not None and known.proven:
            evaluator.evaluate(known.point[np.newaxis])
            self._add(evaluator)
            return "table", 0, known.bound
        try:
            search = search_for(goal.problem, goal.objective)
        except OptimumError:
            self._search(_PROPOSING, goal.objective, settings.samples)
            return _PROPOSING, 0, goal.lower_bound if known is None else known.bound
        start = (self._opening(goal.objective, settings.samples),)
        for found in solving(
            *(search, start, Limits(nodes=settings.nodes), threads),
            evaluate=lambda points: evaluator.evaluate(points).values,
        ):
            best = evaluator.best
            if best and (best.evaluation, best.value) not in self._improvements[-1:]:
                self._improvements.append((best.evaluation, best.value))
            self._show(found.nodes / max(settings.nodes, 1), f"gap {found.gap:.2%}")
        self._add(evaluator)
        least = known.bound if known else goal.lower_bound or 0.0
        unproven = _PROPOSING if "levels" in goal.problem.abilities else _SEARCHING
        found_by = "optimum" if found.proven else unproven
        return found_by, search.nodes, max(found.bound, least)

    def _widen(self, objective: Objective) -> None:
        """Look for mappings that are good in another way: proposals, or a descent from the best."""
        problem, samples, threads = (
            self._work.goal.problem,
            self._work.settings.front,
            self._work.threads,
        )
        evaluator = FrontEvaluator(problem, objective, threads=threads)
        points = self._opening(objective, samples)
        if "levels" in problem.abilities:
            evaluator.evaluate(points)
        elif len(points := np.concatenate([self._vectors(self._best), points])):
            values = evaluator.evaluate(points).values
            best = int(values.argmin())
            steps = descent(problem.space, points[best], float(values[best]), samples)
            follow(steps, lambda points: evaluator.evaluate(points).values)
        self._add(evaluator)

    def _opening(self, objective: Objective, samples: int) -> Points:
        """Return what is evaluated first: what is known, the start, and proposals."""
        problem, given = self._work.goal.problem, [*self._work.start]
        if known := optimum_in_table(problem, objective):
            given.append(known.point.tolist())
        return np.concatenate([self._vectors(given), *opening(problem, objective, samples)])

    @property
    def _best(self) -> list[list[int]]:
        """The best vector so far, if there is one."""
        if not len(points := self._front.points):
            return []
        values, _ = self._work.goal.problem.score(points, self._work.goal.objective)
        return [points[values.argmin()].tolist()]

    def _vectors(self, given: list[Any]) -> Points:
        return np.array(given, dtype=np.int32).reshape(
            len(given), len(self._work.goal.problem.space.sizes)
        )

    def _add(self, evaluator: FrontEvaluator) -> None:
        self._front = self._front.joined(evaluator.front)
        self._samples += evaluator.used + evaluator.warmed_up

    def _search(self, mapper: str, objective: Objective, samples: int) -> None:
        """Let a mapper search, from the best so far and from the start."""

        def follow(evaluator: Evaluator) -> None:
            self._show(evaluator.used / samples, best_note(evaluator))

        problem, given = self._work.goal.problem, [*self._best, *self._work.start]
        start, threads = self._vectors(given), self._work.threads
        evaluator = FrontEvaluator(problem, objective, samples, threads, follow, start)
        run_search(evaluator, mapper, self._work.settings.seed)
        if objective is self._work.goal.objective:
            self._improvements = improvements(evaluator)
        self._add(evaluator)
