"""One run of ActorQ: times of its phases, together and alone, what it learns, and its record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import cycle
from math import ceil
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.experiments.papers.quantise.speed import WIDTHS
from maestro_env.experiments.papers.quantise.tasks import ACTED, evaluate
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.records import Measured, Show
from maestro_env.experiments.store.timing import microseconds
from maestro_env.mappers.papers.quantised.actorq import (
    ACTING,
    LEARNING,
    Actor,
    ActorQ,
    Plan,
    Spaces,
)
from maestro_env.mappers.papers.quantised.single import Ddpg, Dqn, SingleLearner
from maestro_env.mappers.parts.arrays import Floats32

Seconds = Mapping[str, float]
"""By phase."""

EPISODES = 10
"""Episodes of an evaluation, the same ones each time."""

# Share of the time before rows are counted, in which the side that is faster gets ahead.
_BEFORE = 0.1
_TIMINGS = 5
# Samples that are timed, and the most rows that are taken for one.
_SAMPLES, _MOST_TAKEN = 50, 4096


@dataclass(frozen=True)
class Setup:
    """All that decides what is run.

    Args:
        task: one of ``ACTED``.
        network: one of ``WIDTHS``.
        seconds: in which all processes work.
        evaluations: of the learner's policy, between which that time is divided; or 0.
        others: as in ``Plan``.
    """

    task: str
    network: str
    sent: int
    computed: int
    spi: float
    actors: int
    pull: int
    seconds: float
    evaluations: int
    seed: int

    def __str__(self) -> str:
        how = f"{self.sent}:{self.computed} bits, {self.spi:g} samples an insert"
        return f"{self.task}, {self.network}, {how}, run {self.seed}"

    @property
    def plan(self) -> Plan:
        """What all processes follow."""
        return Plan(
            *(ACTED[self.task].make, WIDTHS[self.network], self.actors, self.spi, self.pull),
            *(self.sent, self.computed, self.seed),
        )


@dataclass(frozen=True)
class Acted:
    """What a run gave.

    Args:
        rows: that were inserted in so many ``seconds``.
        sampled: rows that were learnt from.
        versions: of the policy that were published.
        pulls: of an actor, in the mean.
        acting: seconds of an actor's phases, in the mean.
        learning: seconds of the learner's phases.
        alone: seconds of each phase when nothing else runs; empty with evaluations.
        load: of the machine when it began.
        curve: after each evaluation the seconds, the rows and the mean return.
    """

    rows: int
    seconds: float
    sampled: int
    versions: int
    pulls: float
    acting: Seconds
    learning: Seconds
    alone: Seconds
    load: float
    curve: list[tuple[float, int, float]]


@dataclass(frozen=True)
class Acting(Measured[Acted, Setup]):
    """A run as a directory keeps it."""

    NOUN, KEY, RESULT = "runs", "acted", Acted

    @property
    def kind(self) -> tuple[str, str]:
        setup = self.setup
        samples = np.format_float_positional(setup.spi, trim="-")
        how = f"{setup.sent}-{setup.computed}-bits-{samples}-samples"
        return f"{setup.task}-{setup.network}", how

    def measure(self, show: Show) -> Acted:
        return _run(self.setup, show)


def row_times(plan: Plan, alone: Seconds, transfers: bool) -> tuple[float, float]:
    """Return the seconds that a row takes the actors, and the learner; a run takes the greater.

    They are (infer + step) / A and learn * spi / B, for A actors and B rows of a batch. With
    ``transfers`` they include what it takes to move rows and policies.

    Args:
        plan: of the run.
        alone: as in ``Acted``.
        transfers: whether these count.
    """
    acting, learning = alone["infer"] + alone["step"], alone["learn"]
    publishing = 0.0
    if transfers:
        acting += alone["push"] + alone["pull"] / plan.pull
        learning += alone["sample"]
        # Where the learner limits, at most once an update.
        publishing = alone["publish"] / max(plan.pull, plan.batch / plan.spi)
    return acting / plan.actors, learning * plan.spi / plan.batch + publishing


def _run(setup: Setup, show: Show) -> Acted:
    load, plan = os.getloadavg()[0], setup.plan
    alone = {} if setup.evaluations else _alone(plan)
    spaces, learner = _made(plan)
    curve, elapsed, parts = [], 0.0, setup.evaluations or 1
    with ActorQ(plan, spaces, learner) as system:

        def act(seen: Floats32) -> NDArray[Any]:
            system.look_after_actors()
            return spaces.greedy(learner.outputs(seen))

        if not setup.evaluations:
            while system.memory.weights.version == 0:
                system.run(_BEFORE)
            system.run(_BEFORE * setup.seconds)
        before = _counts(system)
        for part in range(1, parts + 1):
            elapsed += system.run(setup.seconds / parts)
            if setup.evaluations:
                found = evaluate(ACTED[setup.task], act, EPISODES)
                curve.append((elapsed, system.memory.rows.added, found))
                show(part / parts, f"return {found:.1f}")
        counts = _counts(system) - before
    rows, sampled, versions, pulls, *seconds = counts.tolist()
    acting = dict(zip(ACTING, seconds, strict=False))
    learning = dict(zip(LEARNING, seconds[len(ACTING) :], strict=True))
    told = int(rows), elapsed, int(sampled), int(versions), pulls
    return Acted(*told, acting, learning, alone, load, curve)


def _made(plan: Plan) -> tuple[Spaces, SingleLearner]:
    """Return what a plan's task takes, and what learns it."""
    spaces = Spaces.of(plan.make())
    kind = Dqn if spaces.discrete else Ddpg
    return spaces, kind(spaces.inputs, spaces.outputs, plan.hidden, plan.seed)


def _counts(system: ActorQ) -> Floats:
    """Return rows, samples, versions, pulls, and the seconds of all phases, so far."""
    memory = system.memory
    counts = memory.rows.added, system.sampled, memory.weights.version, memory.pulls.array.mean()
    return np.concatenate([counts, memory.seconds.array.mean(axis=0), system.seconds])


def _alone(plan: Plan) -> Seconds:
    """Return the seconds of each phase, one after the other in this process."""
    spaces, learner = _made(plan)
    system = ActorQ(plan, spaces, learner)
    actor = Actor(plan, 0, system.memory)
    system.memory.going.array[0] = 1
    for _ in range(plan.least):
        actor.turn()
    system.take()
    system.publish()
    actor.pull()
    actions = cycle([actor.choose() for _ in range(plan.least)])
    batch, row = system.sample(), np.zeros(system.memory.rows.width, np.float32)
    # The actor never has to wait.
    system.memory.sampled.array[0] = 2**62

    phases: dict[str, Callable[[], object]] = {
        "infer": actor.choose,
        "step": lambda: actor.step(next(actions)),
        "push": lambda: actor.push([row]),
        "pull": lambda: actor.pull(again=True),
        "learn": lambda: learner.update(batch),
        "publish": system.publish,
    }

    def timed(phase: Callable[[], object]) -> float:
        system.take()
        return microseconds(phase) / 1e6

    def sampled() -> float:
        """Return the seconds in which rows are taken, as many as are due, and a batch is drawn."""
        for _ in range(min(ceil(plan.batch / plan.spi), _MOST_TAKEN)):
            actor.push([row])
        began = time.perf_counter()
        system.take()
        system.sample()
        return time.perf_counter() - began

    seconds = {name: median(timed(each) for _ in range(_TIMINGS)) for name, each in phases.items()}
    system.take()
    return {**seconds, "sample": median(sampled() for _ in range(_SAMPLES))}
