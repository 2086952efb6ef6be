"""Searches for many optima, each once among all processes that work on a directory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro_env.experiments.proving.proof import (
    ProofRecord,
    ProofState,
    bear_out,
    prove,
    write_certificate,
)
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell.files import distinct_name
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.store.records import Record, Show
from maestro_env.optimum.solving import Limits

_CERTIFICATE = ".certificate.gz"


@dataclass(frozen=True)
class OptimumCell:
    """The optimum to find of one goal.

    Args:
        goal: of a layer without a name.
        layer: the first name of a layer of this shape, for people.
    """

    goal: Goal
    layer: str

    def __str__(self) -> str:
        return f"{self.layer} on {self.goal.problem.hardware.name}, {self.goal.objective.name}"

    def path(self, directory: Path) -> Path:
        """Return where a directory keeps its record."""
        problem = self.goal.problem
        objective = distinct_name(self.goal.objective.name)
        name = f"{distinct_name(problem.hardware.name)}-{problem.schema}-{objective}.json"
        return directory / "cells" / distinct_name(problem.layer.shape) / name


@dataclass(frozen=True)
class Proof(Record[ProofState]):
    """The search for the optimum of a cell until its proof or a limit, which may go on later.

    Args:
        cell: what is searched.
        limits: where it ends without a proof.
        threads: of bounds and evaluation.
        certified: whether the proof is written too.
    """

    cell: OptimumCell
    limits: Limits
    threads: int = 1
    certified: bool = True

    def __str__(self) -> str:
        return str(self.cell)

    @property
    def path(self) -> Path:
        return self.cell.path(self.directory)

    @property
    def kept(self) -> ProofRecord:
        """What was found so far."""
        record = ProofRecord(self.path, self.cell.goal, self.versions)
        if self.path.exists():
            record.read()
        return record

    @property
    def ended(self) -> bool:
        """Whether the search need not go on."""
        record = self.kept
        through = record.finished or self.limits.reached(record.found.solution)
        if record.left is None or not through:
            return False
        return not (self.certified and record.found.proven and not record.found.certificate)

    def facts(self) -> dict[str, Any]:
        return self.cell.goal.describe()

    def compute(self, show: Show) -> dict[str, Any]:
        record = self.kept
        resumed = record.left is not None
        prove(self.cell.goal, record, self.limits, threads=self.threads)
        if resumed:
            bear_out(self.cell.goal, record, way_out=self.way_out)
        if self.certified:
            path = self.path.with_suffix(_CERTIFICATE)
            write_certificate(self.cell.goal, record, path, self.threads)
        return record.entry()

    def parse(self, entry: dict[str, Any]) -> ProofState:
        return ProofState(**entry["found"])


def unfinished(proofs: Iterable[Proof]) -> list[Proof]:
    """Return those that have to go on; of the others, search again where that takes little.

    Raises:
        DamagedError: a record says that no mapping has a value which one has.
    """
    left, untried = [], 0
    for each in proofs:
        if not each.ended:
            left.append(each)
            continue
        kept = each.kept
        borne_out = bear_out(each.cell.goal, kept, way_out=each.way_out)
        untried += borne_out < kept.found.solution.bound
    if untried:
        print_errors(f"note: {untried} bounds are those of records: to find them again takes long")
    return left
