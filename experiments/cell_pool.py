"""Running the cells that are not finished yet, beside other processes that do the same."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from experiments import cli
from experiments.cells import Work, run_cell
from experiments.claims import Claim
from experiments.pool import WorkerDiedError, run_all
from experiments.progress import Bar, best_note
from maestro_env.evaluator import Evaluator

_SECONDS_BETWEEN_LOOKS = 0.2


class Outcome(NamedTuple):
    """What came of a cell.

    Args:
        failure: the line that tells of it, if the search failed.
        busy: whether another process is running it.
    """

    failure: str | None = None
    busy: bool = False


def run_cells(works: Sequence[Work], finished: int, jobs: int, again: str) -> int:
    """Run cells, each once among all processes; return the exit status of that.

    Args:
        works: cells to run, in this order.
        finished: cells that are there already.
        jobs: how many are under way at a time.
        again: what runs those again that fail, for the messages.

    Raises:
        RecordError: a file cannot be written.
    """
    failed = 0
    busy: list[Work] = []
    try:
        with Bar("searches", finished + len(works), finished) as bar:
            counter = _Counter(bar, finished)

            def end(work: Work, outcome: Outcome) -> None:
                nonlocal failed
                counter.end(work, ended=not outcome.busy)
                if outcome.busy:
                    busy.append(work)
                elif outcome.failure:
                    failed += 1
                    print(f"{outcome.failure}; {again} runs it again", file=sys.stderr)

            waiting = list(works)
            if jobs == 1:
                waiting = [replace(work, on_batch=counter.follow) for work in works]
            while waiting:
                run_all(run_once, waiting, jobs, counter.begin, end)
                waiting, busy[:] = _given_back(busy, counter.skip), ()
    except KeyboardInterrupt:
        return cli.INTERRUPTED
    except WorkerDiedError as error:
        print(f"failed: {error}; {again} runs the rest", file=sys.stderr)
        return cli.FAILED
    return cli.FAILED if failed else 0


def run_once(work: Work) -> Outcome:
    """Run a cell unless it is finished, or another process is running it.

    Raises:
        RecordError: a file cannot be written.
    """
    path = work.cell.path(work.directory)
    claim = Claim(path)
    if path.exists():
        return Outcome()
    if not claim.take():
        return Outcome(busy=True)
    try:
        return Outcome() if path.exists() else Outcome(run_cell(work))
    finally:
        claim.give_back()


def _given_back(busy: Sequence[Work], finished: Callable[[Work], None]) -> list[Work]:
    """Wait for other processes; return the cells they have left, if any, before all are finished.

    Args:
        busy: cells that other processes are running.
        finished: called once a cell is.
    """
    waiting = [(work, Claim(work.cell.path(work.directory))) for work in busy]
    while waiting:
        still = []
        for work, claim in waiting:
            if work.cell.path(work.directory).exists():
                finished(work)
            else:
                still.append((work, claim))
        if any(_is_free(claim) for _, claim in still):
            return [work for work, _ in still]
        waiting = still
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return []


def _is_free(claim: Claim) -> bool:
    free = claim.take()
    if free:
        claim.give_back()
    return free


class _Counter:
    """Counts cells on a bar, which also shows those under way."""

    def __init__(self, bar: Bar, ended: int) -> None:
        self._bar = bar
        self._ended = ended
        self._running: list[str] = []

    def begin(self, work: Work) -> None:
        self._running.append(str(work.cell))
        self._show()

    def follow(self, evaluator: Evaluator) -> None:
        """Show a search under way in this process."""
        assert evaluator.budget is not None
        self._show(evaluator.used / evaluator.budget, f": {best_note(evaluator)}")

    def end(self, work: Work, ended: bool) -> None:
        self._running.remove(str(work.cell))
        self._ended += ended
        self._show()

    def skip(self, work: Work) -> None:
        """Count a cell that another process has finished."""
        self._ended += 1
        self._show()

    def _show(self, part: float = 0, note: str = "") -> None:
        self._bar.show(self._ended + part, "; ".join(self._running) + note)
