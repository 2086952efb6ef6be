"""All trainings of a comparison: which there are, and their report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from maestro_env.base.checks import look_up
from maestro_env.experiments.papers.sparse.agents.arms import ARMS, COPIES, AgentSize, Tuning
from maestro_env.experiments.papers.sparse.agents.tables import Found, print_tables
from maestro_env.experiments.papers.sparse.agents.tasks import TASKS
from maestro_env.experiments.papers.sparse.agents.training import Setup, Training
from maestro_env.experiments.papers.sparse.curves import CURVES, draw_curves
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.store.running import run_setups
from maestro_env.mappers.papers.value_based.qmix import LEARNERS


@dataclass(frozen=True)
class AgentTrainings:
    """What is trained: each task by each learner in each arm from each seed.

    Args:
        others: as in ``Setup``.
    """

    tasks: Sequence[str]
    learners: Sequence[str]
    arms: Sequence[str]
    seeds: Sequence[int]
    tuning: Tuning
    size: AgentSize

    def setups(self) -> list[Setup]:
        """Return all trainings, seed by seed, so that a part of them treats all arms alike.

        Raises:
            MissingExtraError, UnknownNameError, UsageError: some cannot be.
        """
        for what, names, known in (
            ("task", self.tasks, TASKS),
            ("learner", self.learners, LEARNERS),
            ("arm", self.arms, ARMS),
        ):
            for name in names:
                look_up(what, name, known)
        if self.tuning.episodes % COPIES:
            raise UsageError(
                f"--episodes {self.tuning.episodes}; allowed: multiples of {COPIES}, which are "
                "played at once"
            )
        for task in self.tasks:
            # A package may be missing.
            TASKS[task](1)
        return [
            Setup(task, learner, arm, seed, self.tuning, self.size)
            for seed, task, learner, arm in product(
                self.seeds, self.tasks, self.learners, self.arms
            )
        ]


def conduct(trainings: AgentTrainings, config: Any) -> int:
    """Train what is not there yet, print tables, and return the exit status."""
    return run_setups(
        "sparse",
        config,
        asdict(trainings.size),
        ("torch",),
        Training,
        trainings.setups(),
        lambda works: _report(works, config.svg),
    )


def _report(works: Sequence[Training], svg: bool) -> None:
    found: dict[str, Found] = {}
    for work in works:
        if (trained := work.read()) is not None:
            setup = work.setup
            title = f"{setup.learner} on {setup.task}, {setup.tuning}"
            found.setdefault(title, {}).setdefault(setup.arm, []).append(trained)
    for title, of_arms in found.items():
        print_tables(title, of_arms)
    if found:
        curves = {
            title: {arm: [each.curve for each in trained] for arm, trained in of_arms.items()}
            for title, of_arms in found.items()
        }
        png = works[0].directory / CURVES
        plot(png, lambda: draw_curves(curves, "mean return, greedy"), svg)
