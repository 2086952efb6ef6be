"""Which accelerators of a grid are looked at, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.experiments.commands.codesign.designs import Design
from maestro_env.experiments.commands.codesign.flags import Config
from maestro_env.experiments.commands.codesign.grid import Grid


class Explorer(Protocol):
    """Chooses accelerators, round by round."""

    def ask(self) -> Sequence[Accelerator]:
        """Return the accelerators of the next round; none once it has chosen all it will."""

    def tell(self, designs: Sequence[Design]) -> None:
        """Learn what the workload takes on each of them, in their order."""


class Everything:
    """All accelerators of a grid that fit, in one round."""

    def __init__(self, grid: Grid) -> None:
        self._left = list(grid.fitting.values())

    def ask(self) -> Sequence[Accelerator]:
        return self._left

    def tell(self, designs: Sequence[Design]) -> None:
        self._left = []


def explorer_of(config: Config, grid: Grid) -> Explorer:
    """Return what chooses the accelerators that flags ask for.

    Raises:
        MissingExtraError: a search needs the extra ``optuna``.
    """
    if config.search is None:
        return Everything(grid)
    from maestro_env.experiments.commands.codesign.nsga2 import Search

    return Search(grid, config.search, config.seed)
