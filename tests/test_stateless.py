"""Stacked agents without networks: equal to agents that learn one by one, and independent."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra rl")

import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from team_helpers import (
    CHANGES,
    LARGE,
    LEARNING,
    SMALL,
    actions_of,
    learn_apart,
    owned_by,
    shared_out,
    teams,
)

from maestro_env.accelerators.hardware import Hardware
from maestro_env.mappers.agents.stateless import StatelessAgents
from maestro_env.mappers.agents.team import Heads, MarlConfig
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

UNSEEN = np.zeros((0, 4), np.float32)

pytestmark = pytest.mark.usefixtures("one_torch_thread")


class LoneAgent:
    """One agent of its own in torch: its loss is written down, its gradient is autograd's."""

    def __init__(self, heads: Heads, owned: list[int], learning: MarlConfig) -> None:
        self.owned, self.learning = owned, learning
        ends = heads.starts + heads.counts
        rows = [slice(heads.starts[head], ends[head]) for head in owned]
        self.bias = [torch.tensor(heads.bias[row]) for row in rows]
        self.features = [torch.tensor(heads.features[head], dtype=torch.float64) for head in owned]
        self.own = [torch.zeros(len(bias), dtype=torch.float64) for bias in self.bias]
        self.common = [torch.zeros(each.shape[1], dtype=torch.float64) for each in self.features]
        weights = [*self.own, *self.common]
        for weight in weights:
            weight.requires_grad_()
        self.optimiser = torch.optim.Adam(weights, learning.rate)

    def policies(self) -> list[torch.Tensor]:
        parts = zip(self.bias, self.own, self.features, self.common, strict=True)
        return [(bias + own + some @ common).log_softmax(0) for bias, own, some, common in parts]

    def draw(self, uniform: Floats) -> Integers:
        drawn = []
        for policy, head in zip(self.policies(), self.owned, strict=True):
            reached = policy.detach().exp().cumsum(0).numpy()
            drawn.append(np.searchsorted(reached / reached[-1], uniform[:, head], side="right"))
        return np.stack(drawn, axis=1)

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        learning, taken, good = self.learning, torch.tensor(actions), torch.tensor(best)
        gain = torch.tensor((rewards - rewards.mean()) / (rewards.std() + 1e-8))
        before = self.log_probability(taken).detach()
        for _ in range(learning.epochs):
            ratio = (self.log_probability(taken) - before).exp()
            clipped = ratio.clamp(1 - learning.clip, 1 + learning.clip)
            surrogate = torch.minimum(ratio * gain, clipped * gain).mean()
            entropy = sum(-(each.exp() * each).sum() for each in self.policies())
            likelihood = self.log_probability(good).mean() if len(best) else 0.0
            loss = -surrogate - learning.entropy * entropy - learning.imitation * likelihood
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()

    def log_probability(self, actions: torch.Tensor) -> torch.Tensor:
        columns = zip(self.policies(), actions.T, strict=True)
        return torch.stack([policy[column] for policy, column in columns]).sum(dim=0)


def policies(team: StatelessAgents, heads: Heads) -> list[Floats]:
    """Log-probabilities of every head."""
    return np.split(np.log(team.chances()), heads.starts[1:])


@pytest.mark.parametrize("agents", [1, 13])
def test_stacked_agents_equal_agents_that_learn_alone(agents: int) -> None:
    owners = shared_out(LARGE, agents)
    team = StatelessAgents(LARGE, owners, LEARNING, LARGE.bias)
    alone = [LoneAgent(LARGE, owned_by(owners, agent), LEARNING) for agent in range(agents)]
    rng = np.random.default_rng(agents)
    for update in range(8):
        uniform, rewards = rng.random((16, len(owners))), rng.normal(size=16)
        best = actions_of(LARGE, min(update, 4), rng)
        actions = team.draw(uniform, UNSEEN)
        for each in alone:
            np.testing.assert_array_equal(actions[:, each.owned], each.draw(uniform))
            each.learn(actions[:, each.owned], rewards, best[:, each.owned])
        team.learn(actions, rewards, best)
    untaught = StatelessAgents(LARGE, owners, LEARNING, LARGE.bias)
    learnt, start = policies(team, LARGE), policies(untaught, LARGE)
    for each in alone:
        for head, policy in zip(each.owned, each.policies(), strict=True):
            # Processors sum in different orders.
            np.testing.assert_allclose(learnt[head], policy.detach().numpy(), rtol=0, atol=1e-9)
            # Not for want of learning.
            assert abs(learnt[head] - start[head]).max() > 1e-3


@given(teams(SMALL), st.sampled_from(CHANGES), st.integers(0, 2**32))
def test_agents_do_not_notice_that_another_one_differs(
    team: tuple[Integers, int], change: str, seed: int
) -> None:
    owners, agent = team
    mine = owned_by(owners, agent)
    first, second = (StatelessAgents(SMALL, owners, LEARNING, SMALL.bias) for _ in range(2))
    learn(first, 3, np.random.default_rng(seed))
    learn(second, 3, np.random.default_rng(seed), others=mine if change == "weights" else None)
    learn_apart((first, second), mine, change, seed + 2)
    pairs = list(zip(policies(first, SMALL), policies(second, SMALL), strict=True))
    same = [np.array_equal(one, another) for one, another in pairs]
    assert all(same[head] for head in range(len(owners)) if head not in mine)
    assert not all(same[head] for head in mine)


def learn(
    team: StatelessAgents, updates: int, rng: np.random.Generator, others: list[int] | None = None
) -> None:
    """Let agents learn from random rewards of what they drew, of some heads from other actions."""
    for _ in range(updates):
        actions = team.draw(rng.random((8, len(SMALL.counts))), UNSEEN)
        rewards, best = rng.normal(size=8), actions_of(SMALL, 2, rng)
        if others:
            actions[:, others] = (actions + 1)[:, others] % SMALL.counts[others]
        team.learn(actions, rewards, best)


def test_agents_start_from_the_inverse_of_sizes_and_draw_what_they_say() -> None:
    space = MapSpace(Layer("GEMM", {"M": 12, "N": 5, "K": 1}), Hardware(num_pes=7))
    heads = Heads(space)
    team = StatelessAgents(heads, shared_out(heads, 2), LEARNING, heads.bias)
    n = 20_000
    actions = team.draw(np.random.default_rng(0).random((n, len(heads.counts))), UNSEEN)
    for head, parameter in enumerate(space.parameters):
        weights = [
            1 / size if parameter.is_size else 1.0 for size in range(1, parameter.choices + 1)
        ]
        expected = np.array(weights) / sum(weights)
        np.testing.assert_allclose(np.exp(policies(team, heads)[head]), expected, rtol=1e-12)
        found = np.bincount(actions[:, head], minlength=len(expected))
        assert len(expected) == 1 or chisquare(found, n * expected).pvalue > 1e-4


@given(st.integers(0, 2**32))
def test_draws_invert_the_distribution_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    team = StatelessAgents(SMALL, shared_out(SMALL, 3), LEARNING, SMALL.bias)
    learn(team, 20, rng)
    uniform = rng.random((20, len(SMALL.counts)))
    uniform[0], uniform[1] = 0, np.nextafter(1, 0)
    actions = team.draw(uniform, UNSEEN)
    for head, policy in enumerate(policies(team, SMALL)):
        probabilities = np.exp(policy)
        assert abs(probabilities.sum() - 1) < 1e-12
        below = np.append(0.0, np.cumsum(probabilities))
        taken = actions[:, head]
        assert (below[taken] <= uniform[:, head] + 1e-12).all()
        assert (uniform[:, head] <= below[taken + 1] + 1e-12).all()
