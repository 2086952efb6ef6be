"""Making labels: a directory of files, each of some problems, that several processes share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.commands.pretrain.labels import SUFFIX, Label, make_label, write_labels
from experiments.commands.pretrain.problems import training_problem
from experiments.search.cells import tell_failure
from experiments.search.goals import ANEW
from experiments.shell.files import check_same, ensure_directory, read_record, write_record
from experiments.store.claims import remove_abandoned
from experiments.store.pool import run_cells
from experiments.store.works import Show

PROBLEMS = 32
"""Problems of a shard."""

_SETTINGS = "settings.json"


def make_labels(directory: Path, seed: int, shards: int, jobs: int = 1) -> int:
    """Make the labels of the first shards that are not there yet; return the exit status.

    Other processes may do the same in the same directory. Shards that have been written stay after
    Ctrl-C.

    Raises:
        RecordError: the directory has labels of another seed.
    """
    ensure_directory(directory)
    path, settings = directory / _SETTINGS, {"labels": {"seed": seed}}
    if path.exists():
        check_same(path, read_record(path, ANEW), settings)
    else:
        write_record(path, settings)
    remove_abandoned(directory)
    all_shards = [Shard(directory, seed, number) for number in range(shards)]
    missing = [each for each in all_shards if not each.path.exists()]
    return run_cells(missing, shards - len(missing), jobs)


@dataclass(frozen=True)
class Shard:
    """The labels of some problems, with consecutive numbers."""

    directory: Path
    seed: int
    number: int

    again: str = "the same command"

    def __str__(self) -> str:
        return f"labels {self.number}"

    @property
    def path(self) -> Path:
        """Where the labels are once all are made."""
        return self.directory / f"labels-{self.number:05}{SUFFIX}"

    @property
    def error_path(self) -> Path:
        """Where the traceback of a failure is."""
        return self.path.with_suffix(".error.txt")

    def run(self, show: Show) -> str | None:
        """Make the labels and write them; return the line that tells of a failure."""
        try:
            labels = list(self._labels(show))
        except Exception as error:  # noqa: BLE001 (the others go on)
            return tell_failure(self, error, self.error_path, self.again)
        write_labels(self.path, labels)
        self.error_path.unlink(missing_ok=True)
        return None

    def _labels(self, show: Show) -> Iterator[Label]:
        seconds = []
        for done in range(PROBLEMS):
            number = self.number * PROBLEMS + done
            task = training_problem(self.seed, number)
            began = time.process_time()
            label = make_label(task, np.random.default_rng([self.seed, number]))
            if label is not None:
                seconds.append(time.process_time() - began)
                yield label
            if seconds:
                middle, high = np.quantile(seconds, [0.5, 0.9])
                note = f"{middle:.2f} s of CPU a label (median), {high:.2f} s (90th percentile)"
                show((done + 1) / PROBLEMS, note)
