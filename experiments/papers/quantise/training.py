"""One training of a policy, what it returns with few bits, and the record of both."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from maestro_env.experiments.papers.quantise.learners import learn
from maestro_env.experiments.papers.quantise.tasks import (
    TASKS,
    calibrate,
    evaluate,
    random_return,
)
from maestro_env.experiments.store.records import Measured, Show

FLOAT = 32
"""Bits of a policy that is not quantised."""


@dataclass(frozen=True)
class Setup:
    """All that decides what is trained and evaluated.

    Args:
        task: one of ``TASKS``.
        learner: one of ``LEARNERS``.
        seed: of the training.
        steps: of the training.
        bits: with which the policy is evaluated, after it was trained with 32 bits.
        aware: bits of quantisation-aware training, with which alone the policy is evaluated; or 0.
        delay: the part of the training, from 0 to 1, that goes before it has so many bits.
        form: as of ``Precision``.
    """

    task: str
    learner: str
    seed: int
    steps: int
    bits: tuple[int, ...]
    aware: int
    delay: float
    form: str

    def __str__(self) -> str:
        how = f", trained with {self.aware} bits" if self.aware else ""
        return f"{self.learner} on {self.task}{how}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """What a training gave.

    Args:
        returns: mean return of the same 100 episodes, by bits.
        random: the same of random actions.
        states: that ranges of activations were recorded from.
        cpu_seconds: it took.
    """

    returns: dict[int, float]
    random: float
    states: int
    cpu_seconds: float


@dataclass(frozen=True)
class Training(Measured[Trained, Setup]):
    """A training as a directory keeps it."""

    NOUN, KEY, RESULT = "trainings", "trained", Trained

    @property
    def kind(self) -> tuple[str, str]:
        setup = self.setup
        how = f"{setup.aware}-bits" if setup.aware else "float"
        return f"{setup.task}-{setup.learner}", how

    def measure(self, show: Show) -> Trained:
        from maestro_env.mappers.papers.quantised.layers import Precision
        from maestro_env.mappers.parts.threads import one_thread

        setup, task, began = self.setup, TASKS[self.setup.task], time.process_time()
        precision, states = Precision(form=setup.form), setup.steps
        delayed = (math.ceil(setup.delay * setup.steps), setup.aware) if setup.aware else None
        act = learn(setup.task, setup.learner, setup.seed, setup.steps, show, precision, delayed)
        returns = {}
        with one_thread():
            if not setup.aware:
                precision.recording = True
                states = calibrate(task, act)
                precision.recording = False
            for bits in (setup.aware,) if setup.aware else (FLOAT, *setup.bits):
                precision.bits = None if bits == FLOAT else bits
                returns[bits] = evaluate(task, act)
        random, seconds = random_return(task), time.process_time() - began
        return Trained(returns, random, states, seconds)

    def read_figures(self, told: dict[str, Any]) -> Trained:
        # Names are texts in JSON.
        returns = {int(bits): float(mean) for bits, mean in told["returns"].items()}
        return Trained(**{**told, "returns": returns})
