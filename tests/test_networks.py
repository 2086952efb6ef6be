"""Stacked agents with networks: equal to networks of their own, and independent."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra rl")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from team_helpers import (
    CHANGES,
    LEARNING,
    SMALL,
    actions_of,
    learn_apart,
    owned_by,
    shared_out,
    teams,
)
from torch import nn

from maestro_env.evaluation.observations_and_rewards import Observations
from maestro_env.mappers.agents.networks import NetworkAgents
from maestro_env.mappers.agents.team import Heads, MarlConfig
from maestro_env.mappers.parts.arrays import Floats, Integers

# Seven parameters.
FEW = Heads(replace(SMALL.space, schema="paper10"))
NETWORK = replace(LEARNING, epochs=2, rate=0.002)


pytestmark = pytest.mark.usefixtures("one_torch_thread")


class LoneAgent(nn.Module):
    """One agent of its own, with modules and an optimiser that no other agent has."""

    def __init__(self, heads: Heads, owned: list[int], learning: MarlConfig, dtype: object) -> None:
        super().__init__()
        self.owned, self.learning, self.dtype = owned, learning, dtype
        ends = heads.starts + heads.counts
        starts = [heads.bias[heads.starts[head] : ends[head]] for head in owned]
        self.start = [torch.tensor(start, dtype=dtype) for start in starts]
        self.policy, self.critic = (
            nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
            for _ in range(2)
        )
        self.heads = nn.ModuleList(nn.Linear(64, heads.counts[head], bias=False) for head in owned)
        self.value = nn.Linear(64, 1, bias=False)
        self.to(dtype)
        self.optimiser = torch.optim.Adam(self.parameters(), learning.rate)

    @torch.no_grad()
    def take_over(self, team: NetworkAgents, agent: int) -> None:
        """Copy the weights of an agent of a team."""
        for mine, stacked in ((self.policy, team._policy), (self.critic, team._critic)):
            for layer, weight, bias in zip(mine[::2], stacked[::2], stacked[1::2], strict=True):
                layer.weight.copy_(weight[agent].T)
                layer.bias.copy_(bias[agent, 0])
        for layer, head in zip(self.heads, self.owned, strict=True):
            layer.weight.copy_(team._outputs[head].T)
        self.value.weight.copy_(team._value[agent].T)

    def policies(self, seen: torch.Tensor) -> list[torch.Tensor]:
        hidden = self.policy(seen)
        outputs = zip(self.start, self.heads, strict=True)
        return [(start + layer(hidden)).log_softmax(1) for start, layer in outputs]

    def draw(self, uniform: Floats, seen: torch.Tensor) -> Integers:
        drawn = []
        for policy, head in zip(self.policies(seen), self.owned, strict=True):
            reached = policy.detach().exp().double().cumsum(1).numpy()
            rows = zip(reached, uniform[:, head], strict=True)
            drawn.append([np.searchsorted(row / row[-1], u, side="right") for row, u in rows])
        return np.array(drawn).T

    def learn(self, seen: torch.Tensor, actions: Integers, rewards: Floats, best: Integers) -> None:
        learning, taken = self.learning, torch.tensor(actions)
        returns = torch.tensor(rewards, dtype=self.dtype)
        with torch.no_grad():
            before = self.log_probability(seen, taken)
            gain = returns - self.critic_value(seen)
            gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
        for _ in range(learning.epochs):
            ratio = (self.log_probability(seen, taken) - before).exp()
            clipped = ratio.clamp(1 - learning.clip, 1 + learning.clip)
            objective = torch.minimum(ratio * gain, clipped * gain).mean()
            for policy, column in zip(self.policies(seen), best.T, strict=True):
                objective += learning.entropy * -(policy.exp() * policy).sum(dim=1).mean()
                if len(best):
                    objective += learning.imitation * policy[:, column].mean()
            loss = 0.5 * ((self.critic_value(seen) - returns) ** 2).mean() - objective
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()

    def critic_value(self, seen: torch.Tensor) -> torch.Tensor:
        return self.value(self.critic(seen))[:, 0]

    def log_probability(self, seen: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(actions))
        columns = zip(self.policies(seen), actions.T, strict=True)
        return torch.stack([policy[rows, column] for policy, column in columns]).sum(dim=0)


def seen_of(rng: np.random.Generator, n: int) -> Observations:
    return rng.random((n, 4)).astype(np.float32)


def outputs(team: NetworkAgents, seen: Observations) -> tuple[list[Floats], Floats]:
    """Log-probabilities [N, choices] of every head, and every critic's values [N, B]."""
    team._seen = torch.as_tensor(seen, dtype=team._dtype)
    with torch.no_grad():
        return [policy.numpy() for policy in team._log_probabilities()], team._values().numpy()


@pytest.mark.parametrize(
    ("agents", "dtype", "tolerance"),
    [
        (1, torch.float64, 1e-10),
        (7, torch.float64, 1e-10),
        (3, torch.float32, 1e-4),
    ],
)
def test_stacked_agents_equal_networks_of_their_own(
    agents: int, dtype: torch.dtype, tolerance: float
) -> None:
    owners = shared_out(FEW, agents)
    rng = np.random.default_rng(agents)
    team = NetworkAgents(FEW, owners, NETWORK, FEW.bias, rng, dtype)
    alone = [LoneAgent(FEW, owned_by(owners, agent), NETWORK, dtype) for agent in range(agents)]
    for agent, each in enumerate(alone):
        each.take_over(team, agent)
    probe = seen_of(rng, 5)
    start, _ = outputs(team, probe)
    for update in range(8):
        seen, uniform = seen_of(rng, 8), rng.random((8, len(owners)))
        rewards, best = rng.normal(size=8), actions_of(FEW, min(update, 4), rng)
        actions = team.draw(uniform, seen)
        for each in alone:
            mine, shared = actions[:, each.owned], torch.tensor(seen, dtype=dtype)
            # What rounding tells apart may, once in long, be on two sides of a number.
            if dtype == torch.float64:
                np.testing.assert_array_equal(mine, each.draw(uniform, shared))
            each.learn(shared, mine, rewards, best[:, each.owned])
        team.learn(actions, rewards, best)
    learnt, values = outputs(team, probe)
    for agent, each in enumerate(alone):
        shared = torch.tensor(probe, dtype=dtype)
        value = each.critic_value(shared).detach()
        np.testing.assert_allclose(values[:, agent], value, rtol=0, atol=tolerance)
        for head, policy in zip(each.owned, each.policies(shared), strict=True):
            np.testing.assert_allclose(learnt[head], policy.detach(), rtol=0, atol=tolerance)
            # Not for want of learning.
            assert abs(learnt[head] - start[head]).max() > 1e-3


@settings(max_examples=8)
@given(teams(SMALL), st.sampled_from(CHANGES), st.integers(0, 2**32))
def test_agents_do_not_notice_that_another_one_differs(
    team: tuple[Integers, int], change: str, seed: int
) -> None:
    owners, agent = team
    mine = owned_by(owners, agent)
    first = NetworkAgents(SMALL, owners, NETWORK, SMALL.bias, np.random.default_rng(seed))
    second = copy.deepcopy(first)
    if change == "weights":
        redraw(second, agent, mine, np.random.default_rng(seed + 1))
    learn_apart((first, second), mine, change, seed + 2)
    probe = seen_of(np.random.default_rng(0), 5)
    (policies, values), (others, other_values) = outputs(first, probe), outputs(second, probe)
    same = [np.array_equal(one, another) for one, another in zip(policies, others, strict=True)]
    assert all(same[head] for head in range(len(owners)) if head not in mine)
    assert not all(same[head] for head in mine)
    critics = (values == other_values).all(axis=0)
    # A critic sees observations and rewards, which are the same, and no actions.
    assert critics.tolist() == [
        each != agent or change != "weights" for each in range(len(critics))
    ]


@torch.no_grad()
def redraw(team: NetworkAgents, agent: int, owned: list[int], rng: np.random.Generator) -> None:
    """Give an agent other weights."""
    own = [layer[agent] for layer in (*team._policy, *team._critic, team._value)]
    for weight in (*own, *(team._outputs[head] for head in owned)):
        weight += torch.as_tensor(rng.normal(size=weight.shape), dtype=weight.dtype) / 10


def test_networks_start_close_to_the_inverse_of_sizes() -> None:
    team = NetworkAgents(SMALL, shared_out(SMALL, 3), NETWORK, SMALL.bias, np.random.default_rng(0))
    policies, _ = outputs(team, seen_of(np.random.default_rng(1), 20))
    for parameter, policy in zip(SMALL.space.parameters, policies, strict=True):
        sizes = np.arange(1, parameter.choices + 1)
        weights = 1 / sizes if parameter.is_size else np.ones(len(sizes))
        np.testing.assert_allclose(np.exp(policy).sum(axis=1), 1, rtol=1e-6)
        expected = np.broadcast_to(weights / weights.sum(), policy.shape)
        np.testing.assert_allclose(np.exp(policy), expected, rtol=0.1)


@given(st.integers(0, 2**32))
def test_draws_invert_the_distribution_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    team = NetworkAgents(SMALL, shared_out(SMALL, 3), NETWORK, SMALL.bias, rng, torch.float64)
    uniform, seen = rng.random((20, len(SMALL.counts))), seen_of(rng, 20)
    uniform[0], uniform[1] = 0, np.nextafter(1, 0)
    actions = team.draw(uniform, seen)
    policies, _ = outputs(team, seen)
    for head, policy in enumerate(policies):
        for row, taken, u in zip(np.exp(policy), actions[:, head], uniform[:, head], strict=True):
            assert row[:taken].sum() - 1e-12 <= u <= row[: taken + 1].sum() + 1e-12
