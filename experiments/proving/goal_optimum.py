"""The optimum of a goal that mappers search for: from the table, or proven if that takes little."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from maestro_env.base.errors import ModelError
from maestro_env.experiments.proving.proof import bear_out, prove
from maestro_env.experiments.proving.records import ProofRecord
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell.files import RecordError, check_same, read_record
from maestro_env.experiments.store.claims import claimed
from maestro_env.experiments.store.directory import ANEW
from maestro_env.experiments.store.versions import Versions
from maestro_env.optimum.known import KnownOptimum, optimum_in_table
from maestro_env.optimum.search import OptimumError, OptimumSearch
from maestro_env.optimum.solving import Limits

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
