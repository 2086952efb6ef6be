"""What policies return with few bits, on several tasks and from several seeds.

A directory keeps a record of every training; they go seed by seed, so that a part of them treats
all tasks alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from maestro_env.base.checks import look_up
from maestro_env.experiments.papers.quantise.learners import LEARNERS, RECIPES, require_learners
from maestro_env.experiments.papers.quantise.losses import Found, print_losses
from maestro_env.experiments.papers.quantise.tasks import TASKS
from maestro_env.experiments.papers.quantise.training import Setup, Training
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.store.running import run_setups


@dataclass(frozen=True)
class Sweep:
    """What is trained and evaluated: each of the tasks by those of the learners that it has.

    Args:
        aware: bits of quantisation-aware trainings.
        seeds: trainings of each kind.
        steps: the most of a training.
        others: as in ``Setup``.
    """

    tasks: Sequence[str]
    learners: Sequence[str]
    bits: Sequence[int]
    aware: Sequence[int]
    delay: float
    form: str
    seeds: int
    steps: int

    def setups(self) -> list[Setup]:
        """Return all trainings, seed by seed; those with few bits follow the others.

        Raises:
            UsageError, MissingExtraError, UnknownNameError: some cannot be.
        """
        for task in self.tasks:
            look_up("task", task, TASKS)
        for learner in self.learners:
            look_up("learner", learner, LEARNERS)
        pairs = [(t, a) for t, a in RECIPES if t in self.tasks and a in self.learners]
        if not pairs:
            known = ", ".join(f"{task} by {learner}" for task, learner in RECIPES)
            raise UsageError(f"--tasks and --learners: no task by its learner; allowed: {known}")
        require_learners()
        return [
            Setup(
                task,
                learner,
                seed,
                min(self.steps, RECIPES[task, learner].steps),
                tuple(self.bits),
                aware,
                self.delay,
                self.form,
            )
            for aware, seed, (task, learner) in product((0, *self.aware), range(self.seeds), pairs)
        ]


def conduct(sweep: Sweep, config: Any) -> int:
    """Train what is not there yet, print tables, and return the exit status."""
    return run_setups(
        "quantise",
        config,
        {name: getattr(sweep, name) for name in ("bits", "delay", "form", "steps")},
        ("torch", "stable-baselines3"),
        Training,
        sweep.setups(),
        lambda works: _report(sweep, works),
    )


def _report(sweep: Sweep, works: Sequence[Training]) -> None:
    found: Found = {}
    for work in works:
        if (trained := work.read()) is not None:
            key = work.setup.task, work.setup.learner, work.setup.aware
            found.setdefault(key, {})[work.setup.seed] = trained
    print_losses(found, sweep.bits)
