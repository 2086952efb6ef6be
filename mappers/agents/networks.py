"""PPO agents with a network each, as the paper describes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.observations_and_rewards import Observations
from maestro_env.mappers.agents.stateless import HIDDEN, first_weights
from maestro_env.mappers.agents.team import MOST_CHANGE, Agents, Heads, MarlConfig, normalised
from maestro_env.mappers.parts.arrays import Floats, Integers

try:
    import torch
    from torch import Tensor

    from maestro_env.mappers.parts.threads import one_thread
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.mappers.agents.networks", str(error.name), "rl") from error


class NetworkAgents(Agents):
    """Agents that observe the last mapping's latency, power, energy and area.

    Each has two hidden layers of 64 tanh units for its policy and two more for its critic; the
    advantage is the reward minus the critic's value. The logits of its heads are their fixed start
    plus the outputs of the policy network.

    Args:
        heads, agents, config, bias: as of all agents.
        rng: draws the first weights.
        dtype: of weights and arithmetic.
    """

    def __init__(
        self,
        heads: Heads,
        agents: Integers,
        config: MarlConfig,
        bias: Floats,
        rng: np.random.Generator,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(heads, agents, config, bias)
        self._dtype = dtype
        self._starts = self._split(bias)
        first = first_weights(heads, int(agents.max()) + 1, rng)
        self._policy, self._critic = self._layers(first.policy), self._layers(first.critic)
        self._outputs = [self._learnt(each) for each in first.outputs]
        self._value = self._learnt(first.values)
        weights = [*self._policy, *self._critic, *self._outputs, self._value]
        self._optimiser = torch.optim.Adam(weights, config.rate, foreach=True)
        self._seen = torch.empty(0)
        self._drawn_from: list[Tensor] = []

    @one_thread()
    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        self._seen = torch.as_tensor(observations, dtype=self._dtype)
        self._drawn_from = self._log_probabilities()
        columns = zip(self._drawn_from, uniform.T, strict=True)
        return np.stack([_invert(each.detach().exp().numpy(), u) for each, u in columns], axis=1)

    @one_thread()
    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        clip, taken = self._config.clip, torch.as_tensor(actions)
        imitated = self._imitated(best)
        returns = torch.as_tensor(rewards, dtype=self._dtype)
        policies, values = self._drawn_from, self._values()
        before = self._of_agents(_chosen(policies, taken)).detach()
        errors = rewards[:, np.newaxis] - values.detach().numpy()
        advantages = torch.as_tensor(normalised(errors)).to(self._dtype)
        for epoch in range(self._config.epochs):
            if epoch:
                policies, values = self._log_probabilities(), self._values()
            change = self._of_agents(_chosen(policies, taken)) - before
            ratio = change.clamp(max=MOST_CHANGE).exp()
            clipped = ratio.clamp(1 - clip, 1 + clip)
            surrogate = torch.minimum(ratio * advantages, clipped * advantages).mean(dim=0).sum()
            loss = -surrogate - self._bonuses(policies, imitated)
            loss = loss + 0.5 * ((values - returns[:, None]) ** 2).mean(dim=0).sum()
            self._optimiser.zero_grad()
            torch.autograd.backward(loss)
            self._optimiser.step()

    def _learnt(self, first: Floats) -> Tensor:
        return torch.tensor(first, dtype=self._dtype, requires_grad=True)

    def _layers(self, hidden: Sequence[Floats]) -> list[Tensor]:
        """Return weights and biases, which begin at 0, of two layers, layer by layer."""
        zeros = np.zeros((len(hidden[0]), 1, HIDDEN))
        return [self._learnt(each) for weights in hidden for each in (weights, zeros)]

    def _split(self, of_logits: Floats) -> tuple[Tensor, ...]:
        """Split float64[L] into a tensor for each head."""
        whole = torch.as_tensor(of_logits, dtype=self._dtype)
        parts: tuple[Tensor, ...] = torch.split(whole, self._heads.counts.tolist())
        return parts

    def _log_probabilities(self) -> list[Tensor]:
        """Return every head's policy for the observations seen last, D tensors [N, choices]."""
        hidden = _forward(self._policy, self._seen)
        made = zip(self._agents, self._outputs, self._starts, strict=True)
        return [torch.log_softmax(bias + hidden[i] @ out, dim=1) for i, out, bias in made]

    def _values(self) -> Tensor:
        """Return every critic's value of the observations seen last, [N, B]."""
        return (_forward(self._critic, self._seen) @ self._value).squeeze(2).T

    def _of_agents(self, of_heads: Tensor) -> Tensor:
        """Sum [N, D] over the heads of each agent to [N, B]."""
        sums = of_heads.new_zeros(len(of_heads), int(self._agents.max()) + 1)
        return sums.index_add(1, torch.as_tensor(self._agents), of_heads)

    def _bonuses(self, policies: list[Tensor], imitated: Floats | None) -> Tensor:
        """Return the sum over heads of weighted entropy and, if any is imitated, imitation."""
        bonus = torch.zeros((), dtype=self._dtype)
        if self._config.entropy:
            entropies = [-(each.exp() * each).sum(dim=1).mean() for each in policies]
            bonus = self._config.entropy * torch.stack(entropies).sum()
        if imitated is not None:
            for policy, frequencies in zip(policies, self._split(imitated), strict=True):
                pull = (frequencies * policy.mean(dim=0)).sum()
                bonus = bonus + self._config.imitation * pull
        return bonus


def _forward(layers: list[Tensor], observations: Tensor) -> Tensor:
    """Return the last hidden layer of every agent, [B, N, 64], of observations [N, 4]."""
    first, first_bias, second, second_bias = layers
    hidden = torch.tanh(observations @ first + first_bias)
    return torch.tanh(hidden @ second + second_bias)


def _chosen(policies: list[Tensor], actions: Tensor) -> Tensor:
    """Return the log-probability of every action, [N, D]."""
    columns = zip(policies, actions.T, strict=True)
    return torch.stack([policy.gather(1, a[:, None])[:, 0] for policy, a in columns], dim=1)


def _invert(probabilities: Floats, uniform: Floats) -> Integers:
    """Return the first choice at which the cumulated probability exceeds a uniform number, [N]."""
    cumulated = np.cumsum(probabilities, axis=1, dtype=np.float64)
    reached = uniform * cumulated[:, -1]
    found: Integers = (cumulated <= reached[:, np.newaxis]).sum(axis=1)
    return found.clip(0, probabilities.shape[1] - 1)
