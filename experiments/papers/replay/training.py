"""One training of agents from replay, and its record.

The settings are those of Gogineni et al., *Towards Efficient Multi-Agent Learning Systems*: all
agents are updated every 100 samples. Those are one episode of four copies of the task, between
which nothing is learnt; their rows are written copy after copy, so that the rows before and after a
row are the steps before and after it, as if one copy had played four episodes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.papers.replay.sample import Worth, readers, sampler_of, worth
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.records import Measured, Show
from maestro_env.mappers.papers.replay.layouts import Batch, Fields, Replay, make_replay
from maestro_env.mappers.papers.replay.samplers import Sampler
from maestro_env.mappers.papers.tasks import EPISODE, Task
from maestro_env.mappers.papers.tasks.physics import DIRECTIONS, Navigation, PredatorPrey
from maestro_env.mappers.parts.arrays import Floats32

if TYPE_CHECKING:
    from maestro_env.mappers.papers.off_policy import OffPolicyLearner

COPIES = 4
LAST = 1000
"""Episodes that a return is the mean of."""

# Episodes of a point of the learning curve.
_POINT = 100

TASKS: Mapping[str, Callable[[int, int], Task]] = {
    "predator-prey": PredatorPrey,
    "navigation": Navigation,
}
"""What makes so many copies of a task of so many agents."""


def _maddpg() -> type[OffPolicyLearner]:
    from maestro_env.mappers.papers.maddpg import Maddpg

    return Maddpg


def _masac() -> type[OffPolicyLearner]:
    from maestro_env.mappers.papers.masac import Masac

    return Masac


LEARNERS: Mapping[str, Callable[[], type[OffPolicyLearner]]] = {"maddpg": _maddpg, "masac": _masac}
"""What imports the class of a learner."""


@dataclass(frozen=True)
class Setup:
    """All that decides what is learnt.

    Args:
        task: one of ``TASKS``.
        agents: N.
        learner: one of ``LEARNERS``.
        sampler: of replay, or ``shared``.
        batch: rows of a joint sample.
        seed: of weights, noise, first positions and rows.
        episodes: a multiple of ``COPIES``.
        begin: rows in replay before the first update.
        capacity: rows of replay.
        dtype: of its numbers.
    """

    task: str
    agents: int
    learner: str
    sampler: str
    batch: int
    seed: int
    episodes: int
    begin: int
    capacity: int
    dtype: str

    @property
    def key(self) -> tuple[int, str, int]:
        """Agents, sampler and batch: what seeds are averaged of."""
        return self.agents, self.sampler, self.batch

    def __str__(self) -> str:
        who = f"{self.learner} on {self.task} of {self.agents}"
        return f"{who}, {self.sampler}:{self.batch}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """What a training gave. A return is the sum over an episode of the agents' mean reward.

    Args:
        last: mean return of the last 1,000 episodes, or of all if there are fewer.
        half: the same when half of the episodes were over.
        random: the same of agents that take any action with equal chances.
        worth: independent rows that a batch is worth, in replay of those agents.
        curve: mean returns of 100 episodes after the other.
        weights: digest of the actors' weights at the end.
        cpu_seconds: it took.
    """

    last: float
    half: float
    random: float
    worth: Worth
    curve: list[float]
    weights: str
    cpu_seconds: float


@dataclass(frozen=True)
class Training(Measured[Trained, Setup]):
    """A training as a directory keeps it."""

    NOUN, KEY, RESULT = "trainings", "trained", Trained

    @property
    def kind(self) -> tuple[str, str]:
        setup = self.setup
        what = f"{setup.task}-{setup.agents}-{setup.learner}"
        return what, f"{setup.sampler}-{setup.batch}"

    def measure(self, show: Show) -> Trained:
        began = time.process_time()
        learner, returns = _train(self.setup, show)
        random, of_batch = _random(self.setup)
        weights = b"".join(each.detach().numpy().tobytes() for each in learner.actors.parameters)
        return Trained(
            _mean_of_last(returns),
            _mean_of_last(returns[: len(returns) // 2]),
            random,
            of_batch,
            [float(returns[at : at + _POINT].mean()) for at in range(0, len(returns), _POINT)],
            hashlib.sha256(weights).hexdigest(),
            time.process_time() - began,
        )

    def read_figures(self, told: dict[str, Any]) -> Trained:
        return Trained(**{**told, "worth": Worth(**told["worth"])})


def require_learner(name: str) -> None:
    """Import the class of a learner.

    Raises:
        MissingExtraError: it needs PyTorch.
    """
    try:
        LEARNERS[name]()
    except ModuleNotFoundError as error:
        raise MissingExtraError(name, str(error.name), "rl") from error


def _mean_of_last(returns: Floats) -> float:
    return float(returns[-LAST:].mean())


def _train(setup: Setup, show: Show) -> tuple[OffPolicyLearner, Floats]:
    """Return what has learnt, and the returns of all episodes.

    As in openai/maddpg, the first update waits for as many rows as a batch has, times the steps of
    an episode: ``begin``.
    """
    first, rng, draws = np.random.default_rng(setup.seed).spawn(3)
    task = TASKS[setup.task](COPIES, setup.agents)
    learner = LEARNERS[setup.learner]()(task.widths, task.heads, first)
    replay, played = _replay(setup, task, setup.capacity), _episodes(task, learner, rng)
    sampler = sampler_of(setup.sampler, replay, draws)
    returns: list[Floats] = []
    for rows in islice(played, setup.episodes // COPIES):
        returns.append(_returns(rows))
        replay.add(*rows)
        if replay.added >= setup.begin:
            learner.update(_joint_samples(setup, replay, sampler))
        done = len(returns) * COPIES
        if done % _POINT == 0:
            recent = np.mean(returns[-LAST // COPIES :])
            show(done / setup.episodes, f"{done:,} episodes, return {recent:.2f}")
    return learner, np.concatenate(returns)


def _random(setup: Setup) -> tuple[float, Worth]:
    """Return the mean return of agents that learn nothing, and what a batch of theirs is worth."""
    rng = np.random.default_rng(setup.seed)
    task = TASKS[setup.task](LAST, setup.agents)
    equal = [np.zeros(len(DIRECTIONS))] * setup.agents
    learner = LEARNERS[setup.learner]()(task.widths, task.heads, rng, logits=equal)
    rows = next(_episodes(task, learner, rng))
    replay = _replay(setup, task, LAST * EPISODE)
    replay.add(*rows)
    sampler = sampler_of(setup.sampler, replay, rng)
    return float(_returns(rows).mean()), worth(replay, sampler, setup.batch)


def _replay(setup: Setup, task: Task, capacity: int) -> Replay:
    of_agents = Fields(task.widths, tuple(sum(heads) for heads in task.heads))
    return make_replay("joint", of_agents, capacity, setup.dtype)


def _episodes(task: Task, learner: OffPolicyLearner, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield an episode of every copy, for ever: the rows of one copy after those of the other."""
    from maestro_env.mappers.papers.off_policy import collect

    steps = collect(task, learner, rng)
    while True:
        seen, actions, rewards, following, dones = zip(*islice(steps, EPISODE), strict=True)
        yield Batch(
            _rows_of_each(seen),
            _rows_of_each(actions),
            _rows(rewards),
            _rows_of_each(following),
            _rows(dones),
        )


def _rows_of_each(steps: Sequence[Sequence[Floats32]]) -> list[Floats32]:
    return [_rows(of_agent) for of_agent in zip(*steps, strict=True)]


def _rows(steps: Sequence[Floats32]) -> Floats32:
    """Return arrays [E, w] of the steps of an episode, copy after copy, [E * 25, w]."""
    return np.stack(steps, axis=1).reshape(-1, steps[0].shape[1])


def _returns(rows: Batch) -> Floats:
    """Return the returns of the episodes that rows are of, float64[E]."""
    returns: Floats = rows.rewards.mean(axis=1, dtype=np.float64).reshape(-1, EPISODE).sum(axis=1)
    return returns


def _joint_samples(setup: Setup, replay: Replay, sampler: Sampler) -> list[Batch]:
    """Return the batches of an update, cut to the shortest: neighbours may be some rows more."""
    count = readers(setup.sampler, setup.agents)
    rows = [sampler.rows(setup.batch) for _ in range(count)]
    fewest = min(map(len, rows))
    return [replay.gather(each[:fewest]) for each in rows]
