"""The record of a search for the optimum: what it has found, and the boxes that are left."""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import quoted
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell import files
from maestro_env.experiments.shell.files import DamagedError, check_same, require_counts
from maestro_env.experiments.store.claims import ANEW
from maestro_env.experiments.store.records import Versions
from maestro_env.optimum.known import KnownOptimum
from maestro_env.optimum.solving import Solution

# Ratio of two bounds that can be told apart in a plot.
_SEEN = 1.0001
# Of the boxes that are left.
_MOST_BYTES = 2**30

CurvePoint = tuple[float, float | None, float | None]
"""Seconds, best and bound."""


@dataclass(frozen=True)
class ProofState:
    """What a search has found.

    Args:
        best: the least value; None if no mapping was valid.
        best_point: a vector that has it.
        bound: no mapping has a lower value; None for infinite: none is valid.
        nodes: boxes of mappings whose bound was computed.
        samples: mappings that were evaluated.
        seconds: spent.
        curve: steps at which the best changed, or the bound by enough to be seen.
        certificate: digest of the proof in a file; empty without one.
    """

    best: float | None = None
    best_point: list[int] | None = None
    bound: float | None = 0.0
    nodes: int = 0
    samples: int = 0
    seconds: float = 0.0
    curve: list[CurvePoint] = field(default_factory=list)
    certificate: str = ""

    @property
    def solution(self) -> Solution:
        """The same without the curve and the certificate."""
        point = None if self.best_point is None else np.array(self.best_point, dtype=np.int32)
        value, bound = (math.inf if each is None else each for each in (self.best, self.bound))
        return Solution(value, point, bound, self.nodes, self.samples, self.seconds)

    @property
    def proven(self) -> bool:
        return self.best == self.bound

    @property
    def gap(self) -> float:
        """How far the best is above the bound, as a share of it; infinite without either."""
        return self.solution.gap

    def followed_by(self, now: Solution) -> ProofState:
        """Return what a search has found later."""
        best = None if now.point is None else now.value
        bound = now.bound if math.isfinite(now.bound) else None
        curve = self.curve
        if not curve or _differs(curve[-1], best, bound):
            curve = [*curve, (now.seconds, best, bound)]
        point = None if now.point is None else now.point.tolist()
        return ProofState(best, point, bound, now.nodes, now.samples, now.seconds, curve)

    @property
    def optimum(self) -> KnownOptimum | None:
        """What is known of the optimum; None if no valid mapping or no bound was found."""
        if self.best is None or not self.bound:
            return None
        point = np.array(self.best_point, dtype=np.int32)
        known = (self.best, point, self.bound, self.seconds, self.nodes, self.certificate)
        return KnownOptimum(*known)


class ProofRecord:
    """The record of a search in a file.

    Attributes:
        path: of the file.
        found: by the search so far.
        left: int32[B, N], boxes that it has not ruled out; None before it has begun.
        borne_out: whether its bound is what a search of this process has found.
        finished: whether the search has ended without a proof, its boxes bounded as finely as they
            can be.
    """

    def __init__(self, path: Path, goal: Goal, versions: Versions) -> None:
        self.path, self._goal, self._versions = path, goal, versions
        self.found: ProofState = ProofState()
        self.left: NDArray[np.int32] | None = None
        self.borne_out = True
        self.finished = False

    def write(self, found: ProofState, left: NDArray[np.int32]) -> None:
        """Write what was found so far."""
        self.found, self.left = found, left
        files.write_record(self.path, self.entry())

    def entry(self) -> dict[str, Any]:
        """Return what the file holds."""
        assert self.left is not None
        boxes = base64.b64encode(zlib.compress(self.left.tobytes())).decode()
        return {
            **self._goal.describe(),
            "found": asdict(self.found),
            "proven": self.found.proven,
            **({"finished": True} if self.finished else {}),
            "best": self._best(),
            "left": {"shape": list(self.left.shape), "boxes": boxes},
            "versions": self._versions,
        }

    def read(self, way_out: str = ANEW) -> None:
        """Read what was found before; an error names the way out of it."""
        begun = files.read_record(self.path, way_out)
        check_same(self.path, begun, self._goal.describe())
        try:
            found = ProofState(**begun["found"])
            require_counts(nodes=found.nodes, samples=found.samples, seconds=found.seconds)
            self._goal.check_best(found.best_point, found.best)
            left = _boxes(**begun["left"])
        except (LookupError, TypeError, ValueError, zlib.error) as error:
            raise DamagedError(f"{self.path} is not a search: {error}", way_out) from None
        self.found, self.left, self.finished = found, left, begun.get("finished") is True

    def _best(self) -> dict[str, Any] | None:
        """Return the best mapping and its cost."""
        if self.found.best_point is None:
            return None
        mapping = self._goal.problem.space.decode(self.found.best_point)
        cost, _ = self._goal.problem.evaluate_mapping(mapping)
        assert cost is not None
        of_levels = "levels" in self._goal.problem.abilities
        said = {"directives": mapping.directives} if of_levels else {}
        return {**said, "cost": cost.as_dict()}


def _boxes(shape: list[int], boxes: str) -> NDArray[np.int32]:
    """Return boxes, which may not be more than their shape says."""
    size = 4 * math.prod(shape)
    if not 0 <= size <= _MOST_BYTES:
        raise ValueError(f"left has the shape {quoted(shape)}; allowed: {_MOST_BYTES:,} bytes")
    found = zlib.decompressobj().decompress(base64.b64decode(boxes), size + 1)
    return np.frombuffer(found, dtype=np.int32).reshape(shape)


def _differs(last: CurvePoint, best: float | None, bound: float | None) -> bool:
    """Say whether a step is worth keeping: a better mapping, the proof, or a bound seen to rise."""
    _, old_best, old_bound = last
    if best != old_best or bound is None or old_bound is None:
        return (best, bound) != (old_best, old_bound)
    return bound != old_bound and (bound == best or bound > _SEEN * old_bound)
