"""A bar on stderr: what is done, what is left, and a note such as the best so far."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.shown.tables import printable_name

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")

# More of anything than this is shown in per cent.
_COUNTABLE = 10**6


class Bar:
    """What is done of a total, shown within the ``with`` block where stderr is a terminal."""

    def __init__(self, what: str, total: int, done: int = 0) -> None:
        self._progress: Progress | None = None
        if sys.stderr is not None and sys.stderr.isatty():
            self._progress = _made(what, total)
            self._only = self._progress.add_task("", total=total, completed=done)

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: float, note: str) -> None:
        """Show how much is done, and a note."""
        if self._progress is not None:
            self._progress.update(self._only, completed=done, description=printable_name(note))

    def each(self, items: Iterable[Item], note: Callable[[Item], str] = str) -> Iterator[Item]:
        """Yield items, and show how many there were before and a note on each."""
        for done, item in enumerate(items):
            self.show(done, note(item))
            yield item

    def follow(self, evaluator: Evaluator) -> None:
        """Show how far a search is."""
        self.show(evaluator.used, best_note(evaluator))


def _made(what: str, total: int) -> Progress:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn(printable_name(what), markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn() if total <= _COUNTABLE else progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
    )


def best_note(evaluator: Evaluator) -> str:
    """Return the note that tells the best of a search so far."""
    return f"best {evaluator.best.value:.4g}" if evaluator.best else "best -"
