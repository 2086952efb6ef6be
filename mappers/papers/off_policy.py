"""What MADDPG and MASAC share: actors, central critics, targets, and the order of an update."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from maestro_env.base.errors import MaestroEnvError, MissingExtraError
from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.papers.tasks import Task
from maestro_env.mappers.parts.arrays import Floats, Floats32, Integers

try:
    import torch
    from torch import Tensor
    from torch.nn.functional import pad

    from maestro_env.mappers.papers.stacked_networks import (
        Heads,
        Networks,
        Optimiser,
        padded,
        tensor,
    )
    from maestro_env.mappers.parts.threads import one_thread
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.mappers.papers", str(error.name), "rl") from error


class LearnerError(MaestroEnvError, ValueError):
    """Batches that a learner cannot learn from."""


@dataclass(frozen=True)
class Settings:
    """How agents learn; the values of Gogineni et al. (2023).

    Args:
        rate: learning rate of Adam, of actors and critics.
        discount: weight of the next step's value.
        follow: share of the way that targets move at an update.
        clip: largest norm of a network's gradient.
        entropy: weight of the entropy of MASAC's policies.
        penalty: weight of the mean squared logit of MADDPG's policies (openai/maddpg).
    """

    rate: float = 0.01
    discount: float = 0.95
    follow: float = 0.01
    clip: float = 0.5
    entropy: float = 0.05
    penalty: float = 1e-3


class JointRows(NamedTuple):
    """K batches of B rows as tensors; K is N, or 1 if all agents share a batch.

    Agents stand side by side and are padded to the longest observation O.
    """

    joint: Tensor
    """What all agents saw and did, [K, B, J]."""
    own: Tensor
    """What each agent saw in its own batch, [N, B, O]."""
    rewards: Tensor
    """What each was paid in its own batch, [N, B, 1]."""
    going: Tensor
    """1 where the episode of that row went on, 0 where it ended, [N, B, 1]."""
    joint_next: Tensor
    """What all agents saw next, [K, B, sum of o_i]."""
    each_next: Tensor
    """The same by agent, [N, K * B, O]."""


class OffPolicyLearner(ABC):
    """N agents, each with an actor and with central critics that see what all see and do.

    An agent's action is a choice of each of its heads. An actor gives the logits of all choices;
    they are drawn by adding Gumbel noise and taking the largest (Jang et al., 2017). The networks
    of all agents are updated at once: first all critics, then all actors, then all targets.

    Args:
        observations: numbers o_i that each agent sees.
        heads: number of choices of each head of each agent; a_i is their sum, D the number of all
            heads.
        rng: draws the first weights and seeds the noise.
        settings: how they learn.
        logits: of all choices before learning, float64[a_i] of each agent; None for random ones.
        features: how critics see the choices of each head, float64[choices, f], D arrays; None for
            one-hots. Gradients of values pass through them to the actors.

    Attributes:
        actors: of all agents.
        critics: each has a network for every agent.
        target_critics: the critics, as they were, followed slowly.
    """

    CRITICS: ClassVar[int]
    """Critics of each agent; the least value of them counts."""

    def __init__(
        self,
        observations: Sequence[int],
        heads: Sequence[Sequence[int]],
        rng: np.random.Generator,
        settings: Settings | None = None,
        logits: Sequence[Floats] | None = None,
        features: Sequence[Floats] | None = None,
    ) -> None:
        self.settings = settings = settings or Settings()
        self.agents, self._observations = len(heads), observations
        self._heads = Heads(heads, features)
        actions = [sum(counts) for counts in heads]
        joint = [sum(observations) + self._heads.width] * self.agents
        self.actors = Networks(observations, actions, rng)
        if logits is not None:
            self.actors.begin_with(logits)
        self.critics = [Networks(joint, [1] * self.agents, rng) for _ in range(type(self).CRITICS)]
        rate, clip = settings.rate, settings.clip
        self._actor_steps = Optimiser(self.actors, rate, clip)
        self._critic_steps = [Optimiser(critic, rate, clip) for critic in self.critics]
        self._noise = torch.Generator().manual_seed(int(rng.integers(2**63)))
        self._make_targets()

    def _make_targets(self) -> None:
        """Copy the networks that are followed slowly."""
        self.target_critics = [critic.copy() for critic in self.critics]

    @one_thread()
    def act(self, observations: Sequence[Floats32], greedy: bool = False) -> Integers:
        """Return the choices int64[E, D] of agents that see float32[E, o_i] each, agent by agent.

        Args:
            observations: of every agent.
            greedy: take the likeliest choices instead of drawing.
        """
        with torch.no_grad():
            logits = self._logits(self.actors, padded([observations], self._observations))
            return self._heads.chosen(logits if greedy else self._noisy(logits))

    def encoded(self, choices: Integers) -> list[Floats32]:
        """Return choices int64[E, D] as replay and critics have them, float32[E, w_i] each."""
        return self._heads.encoded(choices)

    @one_thread()
    def values(self, observations: Sequence[Floats32], choices: Integers) -> Floats32:
        """Return what critics expect of choices int64[E, D] of agents that see float32[E, o_i].

        It is the mean over agents of their least values, float32[E].
        """
        with torch.no_grad():
            joint = _joined([[*observations, *self.encoded(choices)]])
            found: Floats32 = self._least(self.critics, joint).mean(dim=0)[:, 0].numpy()
            return found

    @one_thread()
    def update(self, batches: Sequence[Batch]) -> None:
        """Learn from a batch for each agent, or from one that all share.

        Raises:
            LearnerError: neither one batch nor one for each agent.
        """
        rows = self.stack(batches)
        self.fit_critics(rows, self.target_values(rows))
        self.improve_actors(rows)
        self.follow()

    def stack(self, batches: Sequence[Batch]) -> JointRows:
        """Return batches as tensors."""
        if len(batches) not in (1, self.agents):
            raise LearnerError(f"{len(batches)} batches; allowed: 1 or one for each agent")
        of = [batches[agent % len(batches)] for agent in range(self.agents)]
        own = [batch.observations[agent] for agent, batch in enumerate(of)]
        rewards = [batch.rewards[:, agent] for agent, batch in enumerate(of)]
        dones = [batch.dones[:, agent] for agent, batch in enumerate(of)]
        joint_next = _joined([batch.next_observations for batch in batches])
        return JointRows(
            _joined([[*batch.observations, *batch.actions] for batch in batches]),
            padded([own], self._observations),
            tensor(np.stack(rewards))[:, :, None],
            1 - tensor(np.stack(dones))[:, :, None],
            joint_next,
            _by_agent(joint_next, self._observations),
        )

    def target_values(self, rows: JointRows) -> Tensor:
        """Return what the critics should have said, [N, B, 1]."""
        batches, size = rows.joint.shape[:2]
        with torch.no_grad():
            actions, bonuses = self._next_actions(rows.each_next)
            taken = self._heads.joined(actions.unflatten(1, (batches, size)))
            joint = torch.cat([rows.joint_next, taken], dim=2)
            values = self._least(self.target_critics, joint) + self._of_own_batch(
                bonuses.unflatten(1, (batches, size))
            )
            return rows.rewards + self.settings.discount * rows.going * values

    def fit_critics(self, rows: JointRows, values: Tensor) -> None:
        """Move each critic's values of what agents did towards given ones, [N, B, 1]."""
        joint = rows.joint.expand(self.agents, -1, -1)
        for critic, steps in zip(self.critics, self._critic_steps, strict=True):
            steps.descend(((critic(joint) - values) ** 2).mean(dim=1).sum())

    def improve_actors(self, rows: JointRows) -> None:
        """Move each actor towards actions that its critics value more."""
        logits = self._logits(self.actors, rows.own)
        self._actor_steps.descend(self._policy_loss(logits, rows).mean(dim=1).sum())

    def follow(self) -> None:
        """Move the targets by a share of the way."""
        for target, critic in zip(self.target_critics, self.critics, strict=True):
            target.follow(critic, self.settings.follow)

    @abstractmethod
    def _next_actions(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Return each agent's next actions [N, R, H, C] and what their values gain, [N, R, 1].

        Args:
            observations: [N, R, O].
        """

    @abstractmethod
    def _policy_loss(self, logits: Tensor, rows: JointRows) -> Tensor:
        """Return the loss of policies with logits [N, B, H, C] in each row, [N, B]."""

    def _logits(self, actors: Networks, observations: Tensor) -> Tensor:
        """Return the logits of all choices, [N, R, H, C]."""
        return self._heads.apart(actors(observations))

    def _noisy(self, logits: Tensor) -> Tensor:
        """Add Gumbel noise: the largest of the sum is a draw from the softmax of the logits."""
        return logits - torch.empty_like(logits).exponential_(generator=self._noise).log()

    def _drawn(self, logits: Tensor) -> Tensor:
        """Return drawn choices as one-hots with the gradient of their softmax, [N, R, H, C]."""
        noisy = self._noisy(logits)
        soft = torch.softmax(noisy, dim=3)
        return self._heads.one_hots(noisy) + soft - soft.detach()

    def _values_with(self, actions: Tensor, rows: JointRows) -> Tensor:
        """Return each agent's value of rows in which it acts otherwise, [N, B, H, C] -> [N, B]."""
        return self._least(self.critics, self._heads.replaced(rows.joint, actions))[:, :, 0]

    def _least(self, critics: Sequence[Networks], joint: Tensor) -> Tensor:
        """Return the least value that any critic gives, [N, B, 1], of joint rows [K, B, J]."""
        values = [critic(joint.expand(self.agents, -1, -1)) for critic in critics]
        return torch.stack(values).amin(dim=0)

    def _of_own_batch(self, values: Tensor) -> Tensor:
        """Return for each agent what [N, K, B, 1] has of its own batch, [N, B, 1]."""
        agents = torch.arange(self.agents)
        return values[agents, agents % values.shape[1]]


def collect(task: Task, learner: OffPolicyLearner, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield the steps of episode after episode, for ever, a row for each copy of the task.

    No row is done: that an episode reaches its length is no end for the values of its last states,
    and openai/maddpg stores the same.
    """
    while True:
        seen, ended = task.reset(rng), False
        while not ended:
            actions = learner.act(seen)
            following, rewards, dones = task.step(actions)
            yield Batch(seen, learner.encoded(actions), rewards, following, np.zeros_like(dones))
            seen, ended = following, bool(dones.all())


def _joined(batches: Sequence[Sequence[Floats32]]) -> Tensor:
    """Return arrays [B, w_i] of each of K batches next to each other, [K, B, sum of w_i]."""
    size, width = len(batches[0][0]), sum(part.shape[1] for part in batches[0])
    joined = np.empty((len(batches), size, width), dtype=np.float32)
    for batch, parts in zip(joined, batches, strict=True):
        np.concatenate(parts, axis=1, out=batch)
    return tensor(joined)


def _by_agent(joined: Tensor, widths: Sequence[int]) -> Tensor:
    """Return rows [K, B, sum of w_i] of K batches agent by agent, [N, K * B, W]."""
    rows = joined.flatten(0, 1)
    if len(set(widths)) == 1:  # Nothing is copied.
        return rows.unflatten(1, (len(widths), -1)).transpose(0, 1)
    parts = rows.split(list(widths), dim=1)
    return torch.stack([pad(part, (0, max(widths) - part.shape[1])) for part in parts])
