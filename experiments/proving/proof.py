"""The optimum of a goal, from the table or by search, as every command has it (docs/optimum.md)."""

from __future__ import annotations

import gzip
import hashlib
import math
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from maestro_env.base.errors import ModelError
from maestro_env.base.reading import open_regular
from maestro_env.experiments.proving.records import ProofRecord, ProofState
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import DamagedError, RecordError, check_same, read_record
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.store.claims import ANEW, claimed
from maestro_env.experiments.store.records import Versions
from maestro_env.mapspace.space import Points
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.known import KnownOptimum, optimum_in_table
from maestro_env.optimum.search import OptimumError, OptimumSearch
from maestro_env.optimum.solving import Limits, opening, search_for, solving
from maestro_env.prior.proposals import PROPOSALS

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
    try:
        OptimumSearch.require(goal.require("levels"), goal.objective)
    except (OptimumError, ModelError):
        return None
    record = ProofRecord(path, goal, versions)
    bound = math.inf
    with claimed(path) if search else nullcontext():
        if path.exists():
            record.read(way_out)
            bound = bear_out(goal, record, _LIMITS.nodes, way_out)
        if search:
            prove(goal, record, _LIMITS)
    known = record.found.optimum
    return known and replace(known, bound=min(known.bound, bound))
