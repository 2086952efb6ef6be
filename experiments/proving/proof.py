"""The optimum of a goal, from the table or by search, as every command has it (docs/optimum.md).

A search keeps a record: what it has found, and the boxes that are left.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import math
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import quoted
from maestro_env.base.reading import open_regular
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell import cli, files
from maestro_env.experiments.shell.files import (
    DamagedError,
    RecordError,
    check_same,
    read_record,
    require_counts,
)
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.store.claims import ANEW, claimed
from maestro_env.experiments.store.records import Versions
from maestro_env.mapspace.space import Points
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.known import KnownOptimum, optimum_in_table
from maestro_env.optimum.search import OptimumError
from maestro_env.optimum.solving import Limits, Solution, opening, search_for, solving
from maestro_env.prior.proposals import PROPOSALS

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


_SECONDS_BETWEEN_WRITES = 5.0
# A quarter of a second; of the zoo's proofs 96 % take fewer. On any memories seconds.
_BOXES_AGAIN = {True: 200_000, False: 2_000}


def _show_nothing(found: ProofState) -> None:
    pass


def prove(
    goal: Goal,
    record: ProofRecord,
    limits: Limits,
    proposals: int = PROPOSALS,
    threads: int = 1,
    show: Callable[[ProofState], None] = _show_nothing,
) -> None:
    """Search until the proof or a limit, from where the record is, and write it now and then.

    Args:
        goal: its problem and objective.
        record: of the search so far.
        limits: of the search, what went before included.
        proposals: of the prior, that a new search begins with.
        threads: of bounds and evaluation; results do not depend on it.
        show: is called with what was found after every few boxes.

    Raises:
        OptimumError: a goal whose optimum cannot be proven.
    """
    found, before = record.found, None
    search = search_for(goal.problem, goal.objective)
    start: Iterable[Points] = opening(goal.problem, goal.objective, proposals)
    if record.left is not None:
        before, start = found.solution, ()
        if limits.reached(before):
            return
        search.resume(found.best_point, found.best, record.left)
    written = time.perf_counter()
    try:
        for now in solving(search, start, limits, threads, before):
            found = found.followed_by(now)
            show(found)
            if time.perf_counter() - written > _SECONDS_BETWEEN_WRITES:
                record.write(found, search.left)
                written = time.perf_counter()
    finally:
        with cli.undisturbed():
            # Boxes are left of all that it knows, which may be more than it has said.
            known = found.solution
            last = replace(known, value=search.best, point=search.best_point, bound=search.bound)
            found = found.followed_by(last)
            record.finished = search.finished and not found.proven
            record.write(found, search.left)


def bear_out(
    goal: Goal, record: ProofRecord, nodes: int | None = None, way_out: str = ANEW
) -> float:
    """Search all mappings, as anybody may have written a record's boxes; return the bound found.

    Raises:
        DamagedError: it says that no mapping has a value which one has.
    """
    found, search = record.found.solution, search_for(goal.problem, goal.objective)
    if found.point is not None:
        search.tell(found.point[np.newaxis], np.array([found.value]))
    if nodes is None:
        nodes = _BOXES_AGAIN["levels" in goal.problem.abilities]
    *_, last = solving(search, (), Limits(nodes=nodes))
    if last.value < found.bound:
        told = f"{record.path} says that no mapping has less than {found.bound:g}"
        raise DamagedError(f"{told}, but one has {last.value:g}", way_out)
    return last.bound


def write_certificate(goal: Goal, record: ProofRecord, path: Path, threads: int = 1) -> None:
    """Write the proof that a search has ended with to a file, unless it is there undamaged.

    On any memories it is one of the bound, whatever the gap, where choices of units can be listed.
    It often takes several times as long as the search, whose seconds do not count it.
    """
    found = record.found
    of_a_gap = "relaxed" in goal.problem.abilities
    provable = found.proven or (of_a_gap and found.bound)
    if record.left is None or not provable or _holds(path, found.certificate):
        return
    point = None if found.best_point is None else np.array(found.best_point, dtype=np.int32)
    bound = math.inf if found.bound is None else found.bound
    try:
        made = certify(goal.problem, goal.objective, found.best, point, bound, path, threads)
    except OptimumError as error:
        print_errors(f"no certificate: {error}")
        return
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror}") from None
    record.write(replace(found, certificate=made.digest), record.left)


def _holds(path: Path, digest: str) -> bool:
    """Say whether a compressed file has a content of this digest."""
    try:
        with open_regular(path) as file, gzip.GzipFile(fileobj=file) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == digest
    except (OSError, EOFError, zlib.error):
        return False


# Counted, not timed: every run finds the same. They take about a second, of full17 several.
_LIMITS = Limits(nodes=1_000_000)


def recorded_optimum(goal: Goal, path: Path) -> KnownOptimum | None:
    """Return what the record of a proof says of a goal; None without one, or if it is of another.

    Raises:
        RecordError: it cannot be read.
    """
    if not path.exists():
        return None
    begun, record = read_record(path, ANEW), ProofRecord(path, goal, {})
    try:
        check_same(path, begun, goal.describe())
    except RecordError:
        return None
    record.read()
    return record.found.optimum


def find_optimum(
    goal: Goal, path: Path, versions: Versions, way_out: str, search: bool = True
) -> KnownOptimum | None:
    """Return what is known of the optimum of a goal; None for nothing.

    Args:
        goal: its problem and objective.
        path: of the record that keeps what a search finds.
        versions: of what computes it.
        way_out: of a record that cannot be read, for messages.
        search: whether to search if need be.
    """
    if known := optimum_in_table(goal.problem, goal.objective):
        return known
    if "levels" not in goal.problem.abilities:
        return None
    record, bound = ProofRecord(path, goal, versions), math.inf
    try:
        with claimed(path) if search else nullcontext():
            if path.exists():
                record.read(way_out)
                bound = bear_out(goal, record, _LIMITS.nodes, way_out)
            if search:
                prove(goal, record, _LIMITS)
    except OptimumError:
        return None  # It cannot be proven.
    known = record.found.optimum
    return known and replace(known, bound=min(known.bound, bound))
