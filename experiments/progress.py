"""Progress bars: of a run one per mapper, with the best so far; of a comparison one of cells."""

from __future__ import annotations

import math
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from experiments.searches import Search
from maestro_env.evaluator import Evaluator


def new_progress() -> Progress:
    """Make a display on stderr; where that is no terminal it prints the final state once."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best {task.fields[best]}"),
        console=Console(stderr=True),
    )


class Bar:
    """The bar of one mapper.

    Args:
        progress: shows it.
        mapper: its name.
        evaluations: of all its searches.
    """

    def __init__(self, progress: Progress, mapper: str, evaluations: int) -> None:
        self._progress = progress
        self._task = progress.add_task(mapper, total=evaluations, best="-")
        self._done = 0
        self._best = math.inf

    def follow(self, evaluator: Evaluator) -> None:
        """Show the state of a search under way."""
        best = evaluator.best.value if evaluator.best else math.inf
        self._show(evaluator.used, best)

    def finish(self, search: Search) -> None:
        """Count a search that has ended."""
        self._show(len(search.values), math.inf if search.best is None else search.best)
        self._done += len(search.values)

    def _show(self, evaluations: int, best: float) -> None:
        self._best = min(self._best, best)
        completed = self._done + evaluations
        self._progress.update(self._task, completed=completed, best=_shown(self._best))


class EnumerationBar:
    """The bar of an enumeration, the time left, and the best so far.

    Args:
        mappings: all of them.
    """

    def __init__(self, mappings: int) -> None:
        self._progress = Progress(
            TextColumn("mappings"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("best {task.fields[best]}"),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("", total=mappings, best="-")

    def __enter__(self) -> EnumerationBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, mappings: int, best: float) -> None:
        """Show how many are done, and the best of them."""
        self._progress.update(self._task, completed=mappings, best=_shown(best))


class CellsBar:
    """The bar of a comparison, the time left, and the names of the cells under way.

    Args:
        cells: all of them.
        finished: of these, before it starts.
    """

    def __init__(self, cells: int, finished: int) -> None:
        self._progress = Progress(
            TextColumn("searches"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("", total=cells, completed=finished)
        self._running: list[str] = []

    def __enter__(self) -> CellsBar:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def begin(self, cell: str) -> None:
        """Show a cell that is under way."""
        self._running.append(cell)
        self._show()

    def end(self, cell: str) -> None:
        """Count a cell that has ended."""
        self._running.remove(cell)
        self._progress.advance(self._task)
        self._show()

    def _show(self) -> None:
        self._progress.update(self._task, description="; ".join(self._running))


def _shown(best: float) -> str:
    return f"{best:.4g}" if math.isfinite(best) else "-"
