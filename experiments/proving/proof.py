"""The search for the optimum of a goal, as every command does it (docs/optimum.md)."""

from __future__ import annotations

import gzip
import hashlib
import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.proving.records import CurvePoint, ProofRecord, ProofState
from experiments.search.goals import Goal
from experiments.shell import cli
from experiments.shell.files import RecordError
from maestro_env.base.reading import open_regular
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.search import MOST_NODES, OptimumSearch
from mappers import make_mapper

_SECONDS_BETWEEN_WRITES = 5.0
_NODES_BETWEEN_LOOKS = 100_000
# Ratio of two bounds that can be told apart in a plot.
_SEEN = 1.0001


@dataclass(frozen=True)
class Limits:
    """Where a search ends without its proof.

    Args:
        gap: share of the bound that the best value is above it.
        nodes: boxes of mappings.
        samples: evaluated mappings.
        seconds: that it took.
    """

    gap: float = 0.0
    nodes: int = MOST_NODES
    samples: int = 10**9
    seconds: float = 1e9

    def reached(self, found: ProofState) -> bool:
        """Say whether a search ends here, if not for its samples."""
        spent = found.nodes >= self.nodes or found.seconds >= self.seconds
        return spent or found.gap <= self.gap


def _show_nothing(found: ProofState) -> None:
    pass


def prove(
    goal: Goal,
    record: ProofRecord,
    limits: Limits,
    start: int = 1000,
    seed: int = 0,
    threads: int = 1,
    show: Callable[[ProofState], None] = _show_nothing,
) -> None:
    """Search until the proof or a limit, from where the record is, and write it now and then.

    Args:
        goal: its problem and objective.
        record: of the search so far.
        limits: of the search, what went before included.
        start: samples of ``marl`` that a new search begins with.
        seed: of these samples.
        threads: of bounds and evaluation; results do not depend on it.
        show: is called with what was found after every few boxes.

    Raises:
        OptimumError: a goal whose optimum cannot be proven.
    """
    if record.left is not None and limits.reached(record.found):
        return
    search = OptimumSearch(goal.problem, goal.objective)
    before, began, written = record.found, time.perf_counter(), time.perf_counter()
    curve, samples = list(before.curve), before.samples

    def found() -> ProofState:
        seconds = before.seconds + time.perf_counter() - began
        best = search.best if search.best_point is not None else None
        bound = search.bound if math.isfinite(search.bound) else None
        if not curve or _differs(curve[-1], best, bound):
            curve.append((seconds, best, bound))
        point = None if search.best_point is None else search.best_point.tolist()
        nodes = before.nodes + search.nodes
        return ProofState(best, point, bound, nodes, samples, seconds, curve)

    try:
        if record.left is None:
            evaluator = Evaluator(goal.problem, goal.objective, threads=threads)
            try:
                if first := min(start, limits.samples):
                    make_mapper("marl").search(evaluator, first, np.random.default_rng(seed))
            finally:
                samples = evaluator.used
                search.begin_with(evaluator.best)
        else:
            search.resume(before.best_point, before.best, record.left)
        now = found()
        while not search.finished and not limits.reached(now):
            nodes = min(_NODES_BETWEEN_LOOKS, limits.nodes - now.nodes)
            points = search.ask(nodes, threads)
            if samples + len(points) > limits.samples:
                break
            values, _ = goal.problem.score(points, goal.objective, threads)
            search.tell(points, values)
            samples += len(points)
            now = found()
            show(now)
            if time.perf_counter() - written > _SECONDS_BETWEEN_WRITES:
                record.write(now, search.left)
                written = time.perf_counter()
    finally:
        with cli.undisturbed():
            record.write(found(), search.left)


def write_certificate(goal: Goal, record: ProofRecord, path: Path, threads: int = 1) -> None:
    """Write the proof that a search has ended with to a file, unless it is there undamaged.

    It takes about as long as the search, whose seconds do not count it.
    """
    found = record.found
    if record.left is None or not found.proven or _holds(path, found.certificate):
        return
    point = None if found.best_point is None else np.array(found.best_point, dtype=np.int32)
    bound = math.inf if found.bound is None else found.bound
    try:
        made = certify(goal.problem, goal.objective, found.best, point, bound, path, threads)
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


def _differs(last: CurvePoint, best: float | None, bound: float | None) -> bool:
    """Say whether a step is worth keeping: a better mapping, the proof, or a bound seen to rise."""
    _, old_best, old_bound = last
    if best != old_best or bound is None or old_bound is None:
        return (best, bound) != (old_best, old_bound)
    return bound != old_bound and (bound == best or bound > _SEEN * old_bound)
