"""Many searches for optima, each once among all processes that work on a directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.proving.proof import Limits, prove, write_certificate
from experiments.proving.records import ProofRecord
from experiments.search.goals import Goal
from experiments.shell.files import distinct_name
from experiments.store.claims import Claim
from maestro_env.optimum.known import layer_text

_SECONDS_BETWEEN_LOOKS = 0.5
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
        name = f"{problem.hardware.name}-{problem.space.schema}-{self.goal.objective.name}.json"
        return directory / "cells" / distinct_name(layer_text(problem.layer)) / name


Records = Sequence[tuple[OptimumCell, ProofRecord]]
Show = Callable[[float, str], None]


def sweep(
    records: Records, limits: Limits, show: Show, threads: int = 1, certified: bool = True
) -> None:
    """Search every cell until its proof or a limit; with ``certified``, write the proofs."""

    def lacks(record: ProofRecord) -> bool:
        if record.left is None or not limits.reached(record.found):
            return True
        return certified and record.found.proven and not record.found.certificate

    waiting = [(cell, record, Claim(record.path)) for cell, record in records if lacks(record)]
    while waiting:
        busy = []
        for done, (cell, record, claim) in enumerate(waiting, len(records) - len(waiting)):
            show(done, str(cell))
            if not claim.take():
                busy.append((cell, record, claim))
                continue
            try:
                # Another process may have searched it before it gave the claim back.
                if record.path.exists():
                    record.read()
                prove(cell.goal, record, limits, threads=threads)
                if certified:
                    path = record.path.with_suffix(_CERTIFICATE)
                    write_certificate(cell.goal, record, path, threads)
            finally:
                claim.give_back()
        if len(busy) == len(waiting):
            show(len(records) - len(busy), f"waiting for {len(busy)} cells of other processes")
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        waiting = busy
