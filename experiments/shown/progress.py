"""A bar on stderr: what is done, what is left, and a note such as the best so far."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from experiments.shown.tables import shown
from maestro_env.evaluation.evaluator import Evaluator

# More of anything than this is shown in per cent.
_COUNTABLE = 10**6


class Bar(Progress):
    """What is done of a total, shown within the ``with`` block where stderr is a terminal."""

    def __init__(self, what: str, total: int, done: int = 0) -> None:
        console = Console(stderr=True)
        super().__init__(
            TextColumn(shown(what), markup=False),
            BarColumn(),
            MofNCompleteColumn() if total <= _COUNTABLE else TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            disable=not console.is_terminal,
        )
        self._only = self.add_task("", total=total, completed=done)

    def show(self, done: float, note: str) -> None:
        """Show how much is done, and a note."""
        self.update(self._only, completed=done, description=shown(note))

    def follow(self, evaluator: Evaluator, before: int = 0) -> None:
        """Show how far a search is, after so many samples of others before it."""
        self.show(before + evaluator.used, best_note(evaluator))


def best_note(evaluator: Evaluator) -> str:
    """Return the note that tells the best of a search so far."""
    return f"best {evaluator.best.value:.4g}" if evaluator.best else "best -"
