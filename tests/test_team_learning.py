"""Agents learn from one reward, and those that depend on each other learn better as one."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from gate import few

pytest.importorskip("torch", reason="needs the extra rl")

import torch
from team_helpers import LARGE, LEARNING, SMALL, actions_of, shared_out

from maestro_env.mappers.agents.networks import NetworkAgents
from maestro_env.mappers.agents.stateless import FusedAgents, StatelessAgents
from maestro_env.mappers.agents.team import Agents, Heads, MarlConfig

UNIFORM = Heads(SMALL.space, "uniform")
# Rewards alone teach, without bonuses.
PLAIN = MarlConfig(clip=0.2, entropy=0.0, imitation=0.0)
NAMES = [each.name for each in UNIFORM.space.parameters]
ONE_SIGHT = np.full((1, 4), 0.5, np.float32)


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def chances(team: Agents) -> list[np.ndarray]:
    """Probabilities of every head."""
    if isinstance(team, (FusedAgents, StatelessAgents)):
        return np.split(team.chances(), UNIFORM.starts[1:])
    return [policy[0].exp().detach().numpy() for policy in team._log_probabilities()]


@pytest.mark.parametrize("agents", few([11, 1]))
@pytest.mark.parametrize("kind", ["stateless", "mlp", "fused"])
def test_agents_learn_the_optimum_of_a_separable_reward(kind: str, agents: int) -> None:
    owners, rng = shared_out(UNIFORM, agents), np.random.default_rng(0)
    team: Agents
    if kind == "stateless":
        team = StatelessAgents(UNIFORM, owners, replace(PLAIN, epochs=8), UNIFORM.bias)
    else:
        config = replace(PLAIN, epochs=4, rate=0.01)
        networks = NetworkAgents if kind == "mlp" else FusedAgents
        team = networks(UNIFORM, owners, config, UNIFORM.bias, rng)
    (optimum,) = actions_of(UNIFORM, 1, rng)
    for _ in range(25):
        actions = team.draw(rng.random((32, len(owners))), np.repeat(ONE_SIGHT, 32, axis=0))
        team.learn(actions, (actions == optimum).mean(axis=1), actions[:0])
    found = [each[best] for each, best in zip(chances(team), optimum, strict=True)]
    assert min(found) > 0.9


@pytest.mark.parametrize("heads", few([LARGE, SMALL]))
@pytest.mark.parametrize(
    "config",
    [LEARNING, replace(LEARNING, entropy=0.0, imitation=0.0), replace(LEARNING, clip=0.4)],
)
def test_fused_agents_learn_what_those_of_pytorch_learn(heads: Heads, config: MarlConfig) -> None:
    owners, rng = shared_out(heads, 5), np.random.default_rng(1)
    first = np.random.default_rng(0)
    plain = NetworkAgents(heads, owners, config, heads.bias, first, torch.float64)
    fused = FusedAgents(heads, owners, config, heads.bias, np.random.default_rng(0))
    for rows in (21, 32, 1, 7):
        uniform, seen = rng.random((rows, len(owners))), rng.random((rows, 4), np.float32)
        actions = fused.draw(uniform, seen)
        # A uniform number between two sums of rounded chances may go to either.
        assert (plain.draw(uniform, seen) != actions).mean() < 0.01
        chances = [policy[-1].exp().detach().numpy() for policy in plain._log_probabilities()]
        np.testing.assert_allclose(fused.chances(), np.concatenate(chances), atol=1e-5)
        rewards, best = rng.random(rows), actions_of(heads, 4, rng)
        plain.learn(actions, rewards, best)
        fused.learn(actions, rewards, best)


def test_a_team_refuses_what_does_not_fit() -> None:
    owners = shared_out(SMALL, 2)
    rng = np.random.default_rng(0)
    team = FusedAgents(SMALL, owners, PLAIN, SMALL.bias, rng)
    with pytest.raises(ValueError, match="nothing was drawn"):
        team.chances()
    actions = team.draw(rng.random((3, len(owners))), np.zeros((3, 4), np.float32))
    with pytest.raises(ValueError, match="rewards have 3 numbers, got float64 of shape"):
        team.learn(actions, np.zeros(4), actions[:0])
    with pytest.raises(ValueError, match="action 999 of"):
        team.learn(np.full_like(actions, 999), np.zeros(3), actions[:0])
    with pytest.raises(ValueError, match="uniform numbers are"):
        team.draw(rng.random((3, 2)), np.zeros((3, 4), np.float32))


PAIRS = [[NAMES.index(f"{level}_tile_{loop}") for level in ("l2", "l1")] for loop in "MNK"]


def agreement(groups: list[list[int]], seed: int) -> float:
    """Let agents learn that two sizes of a loop should be equal; return how often they are.

    No size is better than another: what is good follows from what the other one becomes. An agent
    of both knows, as its ratio weighs samples by what both have become since they were drawn;
    agents of one each do not, nor does an agent that weighs by what has nothing to do with it.
    That takes steps far from what was drawn: many, and not clipped.
    """
    owners = np.full(len(NAMES), len(groups))
    for agent, owned in enumerate(groups):
        owners[owned] = agent
    config = replace(PLAIN, epochs=30, clip=10.0)
    team = StatelessAgents(UNIFORM, owners, config, UNIFORM.bias)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        actions = team.draw(rng.random((256, len(NAMES))), np.repeat(ONE_SIGHT, 256, axis=0))
        equal = np.mean([actions[:, a] == actions[:, b] for a, b in PAIRS], axis=0)
        team.learn(actions, equal, actions[:0])
    found = chances(team)
    return float(np.mean([found[a] @ found[b] for a, b in PAIRS]))


def test_the_right_grouping_beats_the_wrong_ones() -> None:
    others = [column for column in range(len(NAMES)) if not any(column in pair for pair in PAIRS)]
    groupings = {
        "right": PAIRS,
        "apart": [[PAIRS[i][0], PAIRS[(i + 1) % 3][1]] for i in range(3)],
        "alone": [[column] for pair in PAIRS for column in pair],
        "with all": [[*chain(*PAIRS), *others]],
    }
    found = {
        name: np.array([agreement(groups, seed) for seed in range(10)])
        for name, groups in groupings.items()
    }
    right = found.pop("right")
    assert right.min() > 0.95
    for wrong in found.values():
        assert wrong.mean() < 0.9
        assert (right > wrong).sum() >= 7
