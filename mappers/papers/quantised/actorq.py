"""ActorQ (Krishnan et al., *QuaRL*, section 3.2): actors of few bits, a learner of full precision.

A process is the learner and the quantiser: it learns from replay, and publishes its policy with
the bits of the communication. Every actor is a process that pulls the newest policy every so many
steps, acts by it with the bits of the computation, and adds its steps to rows that the learner
takes. How many rows are sampled for each that is inserted is held, so that the slower side decides
the rate.

A row has the discounted rewards of some steps, and what is seen after them. Its ``dones`` is what
the value of that loses: 1 where the episode has ended, otherwise 1 - ``DISCOUNT`` ** steps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.native_learning import Perceptrons
from maestro_env.base.parallelism import ctrl_c_held_back, end_with_parent
from maestro_env.mappers.papers.quantised.shared import (
    POLL_SECONDS,
    Packet,
    RateLimiter,
    SharedArray,
    SharedRows,
    SharedWeights,
)
from maestro_env.mappers.papers.replay.layouts import Batch, Fields, make_replay
from maestro_env.mappers.papers.replay.samplers import Uniform
from maestro_env.mappers.parts.arrays import Booleans, Floats, Floats32

if TYPE_CHECKING:
    from maestro_env.mappers.papers.quantised.single import SingleLearner

ACTING = ("infer", "step", "push", "pull", "wait")
LEARNING = ("sample", "learn", "publish", "wait")
"""Phases of actors and of the learner."""

NOISE = 0.2
"""Of the last actor; those before it have less in equal steps."""

DISCOUNT = 0.99
STEPS = 5
"""Steps whose rewards a row has, as in D4PG; at the end of an episode there are fewer."""

_DISCOUNTS = [DISCOUNT**step for step in range(STEPS)]
_REPLAY_ROWS, _RING_ROWS, _CALIBRATION = 100_000, 8192, 256
# An actor is taken for stalled after so many seconds. One look at actors counts for no more than
# another number of them, so that nobody is blamed where all have stood still.
_PATIENCE, _LOOK = 60.0, 1.0
# Of an actor, times its number; below the seeds of evaluations.
_SEEDS = 10_000


class ActorError(MaestroEnvError, RuntimeError):
    """An actor ended before its learner, or stands still."""


@dataclass(frozen=True)
class Plan:
    """All that decides what is learnt, and by which processes; pickled for the actors.

    Args:
        make: makes the task: observations of numbers, and choices or actions in [-1, 1].
        hidden: widths of the policy's hidden layers.
        actors: processes that act.
        spi: rows sampled for each row inserted.
        pull: steps of an actor between two looks for a newer policy.
        sent: bits of weights that are sent, one of ``SENT``.
        computed: bits that actors compute with, one of ``COMPUTED``.
        seed: of tasks, noise and samples, below 10,000.
        batch: rows of a sample.
        least: rows inserted before the first sample. Until then actions are random.
    """

    make: Callable[[], gymnasium.Env[Any, Any]]
    hidden: tuple[int, ...]
    actors: int = 1
    spi: float = 1.0
    pull: int = 1000
    sent: int = 32
    computed: int = 32
    seed: int = 0
    batch: int = 256
    least: int = 1000

    @property
    def limiter(self) -> RateLimiter:
        """What holds the rate."""
        return RateLimiter(self.spi, self.batch, self.least)


@dataclass(frozen=True)
class Spaces:
    """What a policy of a task takes and gives.

    Args:
        inputs: numbers observed.
        outputs: numbers of the policy.
        discrete: whether the greatest output is chosen; otherwise their tanh is the action.
    """

    inputs: int
    outputs: int
    discrete: bool

    @classmethod
    def of(cls, env: gymnasium.Env[Any, Any]) -> Spaces:
        """Return those of a task."""
        assert env.observation_space.shape is not None
        (inputs,) = env.observation_space.shape
        if isinstance(env.action_space, gymnasium.spaces.Discrete):
            return cls(inputs, int(env.action_space.n), True)
        assert env.action_space.shape is not None
        (outputs,) = env.action_space.shape
        return cls(inputs, outputs, False)

    @property
    def numbers(self) -> int:
        """Numbers of an action as replay has it."""
        return 1 if self.discrete else self.outputs

    def greedy(self, outputs: Floats32) -> NDArray[Any]:
        """Return the actions of a policy's outputs float32[..., outputs]."""
        return outputs.argmax(axis=-1) if self.discrete else np.tanh(outputs)


class PhaseTimer:
    """Adds up the seconds of phases that follow each other.

    Args:
        phases: their names.
        seconds: of each, float64.
    """

    def __init__(self, phases: Sequence[str], seconds: Floats) -> None:
        self._places = {phase: place for place, phase in enumerate(phases)}
        self._seconds, self._last = seconds, time.perf_counter()

    def end(self, phase: str) -> None:
        """Give all time since the last phase ended to this one."""
        now = time.perf_counter()
        self._seconds[self._places[phase]] += now - self._last
        self._last = now

    def skip(self) -> None:
        """Give that time to none."""
        self._last = time.perf_counter()


class Memory:
    """What the processes share.

    Args:
        plan: of all of them.
        spaces: of its task.

    Attributes:
        going: one number: whether actors act.
        sampled: one number: rows that were ever sampled.
        made: of each actor, whether it is ready to act.
        pulls: of each actor, how many policies it has pulled.
        seconds: of each actor, those of its phases.
    """

    def __init__(self, plan: Plan, spaces: Spaces) -> None:
        self.spaces = spaces
        self.weights = SharedWeights(len(self.packet(plan).bytes))
        width = 2 * spaces.inputs + spaces.numbers + 2
        self.rows = SharedRows(plan.actors, _RING_ROWS, width)
        self.going, self.sampled = (SharedArray((1,), np.int64) for _ in range(2))
        self.made, self.pulls = (SharedArray((plan.actors,), np.int64) for _ in range(2))
        self.seconds = SharedArray((plan.actors, len(ACTING)), np.float64)

    def packet(self, plan: Plan) -> Packet:
        """Return an empty packet for a policy."""
        return Packet((self.spaces.inputs, *plan.hidden, self.spaces.outputs), plan.sent)


class Actor:
    """Acts by the newest policy that it has pulled, and before the first one at random.

    Args:
        plan: of all processes.
        number: its own, from 0.
        memory: of all processes.
    """

    def __init__(self, plan: Plan, number: int, memory: Memory) -> None:
        self._plan, self._number, self._memory = plan, number, memory
        self._limiter, self._packet = plan.limiter, memory.packet(plan)
        self._noise = NOISE * (number + 1) / plan.actors
        self._rng = np.random.default_rng((plan.seed, number))
        self._env = plan.make()
        self._seen, _ = self._env.reset(seed=_SEEDS * (number + 1) + plan.seed)
        self._env.action_space.seed(_SEEDS * (number + 1) + plan.seed)
        # What was seen, done and paid at the last steps, whose rows are not complete.
        self._open: deque[tuple[Floats32, NDArray[Any], float]] = deque()
        self._network: Perceptrons | None = None
        self._steps = self._version = 0
        self._phases = PhaseTimer(ACTING, memory.seconds.array[number])

    def turn(self) -> None:
        """Take a step, and insert the rows that it completes once that is allowed."""
        if self._steps % self._plan.pull == 0 or self._version == 0:
            self.pull()
            self._phases.end("pull")
        action = self.choose()
        self._phases.end("infer")
        rows = self.step(action)
        self._phases.end("step")
        self.push(rows)
        self._phases.end("push")

    def pull(self, again: bool = False) -> None:
        """Load the newest policy unless it is the same, or ``again`` is asked for."""
        newest = self._memory.weights.version
        if newest == 0 or (newest == self._version and not again):
            return
        self._version = self._memory.weights.pull(self._packet.bytes)
        self._network = self._packet.load(self._plan.computed)
        self._memory.pulls.array[self._number] += 1

    def choose(self) -> NDArray[Any]:
        """Return an action in view of what was seen last."""
        if self._network is None:
            return np.asarray(self._env.action_space.sample())
        action = self._memory.spaces.greedy(self._network.run(self._seen[np.newaxis])[0, 0])
        if not self._memory.spaces.discrete:
            noise = self._noise * self._rng.standard_normal(len(action), np.float32)
            noisy: Floats32 = np.clip(action + noise, -1, 1)
            return noisy
        random = self._rng.random() < self._noise
        return np.asarray(self._rng.integers(self._memory.spaces.outputs)) if random else action

    def step(self, action: NDArray[Any]) -> list[Floats32]:
        """Step the task, begin again where an episode ends, and return the rows it completes."""
        following, reward, terminated, truncated, _ = self._env.step(action)
        self._steps += 1
        self._open.append((self._seen, action.reshape(-1), float(reward)))
        ended, rows = terminated or truncated, []
        while len(self._open) == STEPS or (ended and self._open):
            gained = sum(each * of[2] for each, of in zip(_DISCOUNTS, self._open, strict=False))
            going = 0.0 if terminated else DISCOUNT ** len(self._open)
            seen, acted, _ = self._open.popleft()
            ends = np.array([gained, 1 - going])
            rows.append(np.concatenate([seen, acted, ends, following], dtype=np.float32))
        self._seen = self._env.reset()[0] if ended else following
        return rows

    def push(self, rows: Sequence[Floats32]) -> None:
        """Insert rows, each once the learner does not lag behind."""
        for row in rows:
            self._wait_for_room()
            self._memory.rows.add(self._number, row)

    def _wait_for_room(self) -> None:
        going = self._memory.going.array
        while not (going[0] and self._has_room()):
            time.sleep(POLL_SECONDS)
            if going[0]:
                self._phases.end("wait")
            else:
                self._phases.skip()

    def _has_room(self) -> bool:
        memory = self._memory
        inserted, sampled = memory.rows.added, int(memory.sampled.array[0])
        return not memory.rows.is_full(self._number) and self._limiter.may_insert(inserted, sampled)


class ActorQ:
    """A learner, and within the ``with`` block its actors, which act while it runs.

    Args:
        plan: of all processes.
        spaces: of its task.
        learner: which learns here, with one thread.

    Attributes:
        memory: of all processes.
        processes: of the actors.
        replay: what actors have done.
        seconds: of the learner's phases.
    """

    def __init__(self, plan: Plan, spaces: Spaces, learner: SingleLearner) -> None:
        self._plan, self._limiter, self._learner = plan, plan.limiter, learner
        self.memory = Memory(plan, spaces)
        self._packet = self.memory.packet(plan)
        fields = Fields((spaces.inputs,), (spaces.numbers,))
        self.replay = make_replay("joint", fields, _REPLAY_ROWS)
        self._sampler = Uniform(self.replay, np.random.default_rng(plan.seed))
        self._published = 0
        self.seconds: Floats = np.zeros(len(LEARNING))
        self._phases = PhaseTimer(LEARNING, self.seconds)
        self._looked, self._moved = time.perf_counter(), np.zeros(plan.actors)
        self._still = np.zeros(plan.actors)
        spawn = get_context("spawn")
        self.processes = [
            spawn.Process(target=_act, args=(plan, number, self.memory))
            for number in range(plan.actors)
        ]

    @property
    def sampled(self) -> int:
        """Rows that the learner has learnt from."""
        return int(self.memory.sampled.array[0])

    def __enter__(self) -> ActorQ:
        """Start the actors, and wait until they are ready.

        Raises:
            ActorError: one of them ended, or does not get ready.
        """
        try:
            with ctrl_c_held_back():
                for each in self.processes:
                    each.start()
            while not self.memory.made.array.all():
                self._require_moves(self.memory.made.array == 0)
                time.sleep(POLL_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the actors."""
        for each in self.processes:
            if each.pid is not None:
                each.kill()
                each.join()

    def run(self, seconds: float) -> float:
        """Let all processes work for some seconds; return how many it were, to the last update.

        Raises:
            ActorError: an actor ended, or stands still.
        """
        began = time.perf_counter()
        self._phases.skip()
        self.memory.going.array[0] = 1
        try:
            while time.perf_counter() - began < seconds:
                self._require_moves(np.ones(len(self.processes), bool))
                self._turn()
        finally:
            self.memory.going.array[0] = 0
        return time.perf_counter() - began

    def _turn(self) -> None:
        """Do what is due: publish, and learn from a batch, or wait for rows."""
        self.take()
        if self.replay.added >= max(self._plan.least, self._published):
            self.publish()
            self._phases.end("publish")
        if self._limiter.may_sample(self.replay.added, self.sampled):
            batch = self.sample()
            self._phases.end("sample")
            self._learner.update(batch)
            self._phases.end("learn")
        else:
            time.sleep(POLL_SECONDS)
            self._phases.end("wait")

    def take(self) -> None:
        """Move the actors' new rows to replay."""
        rows = self.memory.rows.take()
        if len(rows):
            spaces = self.memory.spaces
            ends = np.cumsum([spaces.inputs, spaces.numbers, 1, 1])
            seen, actions, rewards, dones, following = np.split(rows, ends, axis=1)
            self.replay.add([seen], [actions], rewards, [following], dones)

    def sample(self) -> Batch:
        """Return a batch from replay."""
        self.memory.sampled.array[0] += self._plan.batch
        return self.replay.gather(self._sampler.rows(self._plan.batch))

    def publish(self) -> None:
        """Send the policy, with ranges from replay; the next one is due ``pull`` rows later."""
        states = self.replay.gather(self._sampler.rows(_CALIBRATION)).observations[0]
        self._packet.pack(self._learner.layers(), self._learner.ranges(states))
        self.memory.weights.publish(self._packet.bytes)
        self._published = self.replay.added + self._plan.pull

    def look_after_actors(self) -> None:
        """Raise ``ActorError`` if an actor has ended."""
        for number, each in enumerate(self.processes):
            if each.exitcode is not None:
                raise ActorError(
                    f"actor {number} of {len(self.processes)} ended with exit status "
                    f"{each.exitcode}; the learner and the other actors ended, too"
                )

    def _require_moves(self, due: Booleans) -> None:
        """Raise ``ActorError`` if one of the actors of which this is due ended or stands still."""
        self.look_after_actors()
        moved, now = self.memory.seconds.array.sum(axis=1), time.perf_counter()
        self._still += min(now - self._looked, _LOOK)
        self._still[(moved != self._moved) | ~due] = 0
        self._looked, self._moved = now, moved
        if self._still.max() > _PATIENCE:
            raise ActorError(
                f"actor {self._still.argmax()} of {len(self.processes)} has stood still for "
                f"{_PATIENCE:g} s, perhaps because it is stopped; the learner and the other actors "
                "ended, too"
            )


def _act(plan: Plan, number: int, memory: Memory) -> None:
    """Be an actor."""
    end_with_parent(1)
    actor = Actor(plan, number, memory)
    memory.made.array[number] = 1
    while True:
        actor.turn()
