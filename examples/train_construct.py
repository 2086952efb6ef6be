"""Masked PPO that learns to construct mappings, decision by decision, on many layers at once.

It proposes mappings of layers and accelerators that it has never seen (docs/environments.md).
"""

import argparse

import numpy as np
import torch
from torch import nn
from train_transfer import Agent, copies_of, train

from maestro_env.evaluation.observations_and_rewards import CONTEXT
from maestro_env.prior.proposals import DECISIONS, FEATURES, OPTIONS

WIDTH = 64
KIND = slice(len(CONTEXT), len(CONTEXT) + DECISIONS)


class Scores(nn.Module):
    """Of each option a score, by its features and all that is seen of the state.

    Features of each kind of decision mean something else, and have weights of their own.
    """

    def __init__(self, inputs):
        super().__init__()
        self.state = nn.Sequential(nn.Linear(inputs, 128), nn.Tanh(), nn.Linear(128, WIDTH))
        self.features = nn.Parameter(torch.randn(DECISIONS, FEATURES, WIDTH) / FEATURES**0.5)
        self.score = nn.Linear(WIDTH, 1)
        nn.init.orthogonal_(self.score.weight, 0.1)

    def forward(self, inputs):
        state, options = inputs.split([inputs.shape[1] - OPTIONS * FEATURES, OPTIONS * FEATURES], 1)
        weights = self.features[state[:, KIND].argmax(dim=1)]
        of_options = options.view(-1, OPTIONS, FEATURES) @ weights
        return self.score(torch.relu(self.state(state)[:, None] + of_options))[..., 0]


class First(nn.Module):
    """The first so many of all that is seen."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def forward(self, inputs):
        return inputs[:, : self.count]


class Constructor(Agent):
    """A policy that scores options; its value is of the state alone."""

    def __init__(self, inputs, actions):
        state = inputs - OPTIONS * FEATURES
        super().__init__(state, actions)
        self.policy, of_state = Scores(state), self.value
        self.value = nn.Sequential(First(state), of_state)

    def learn_scale(self, seen):
        """What is seen is about 1 in size."""

    def scaled(self, seen):
        """What was seen, as it is."""
        return torch.as_tensor(seen)


def proposed(agent, name, seeds, draws=32, proposals=10):
    """Objective / optimum of each proposal for the layers that seeds draw: float64[P, 32 N]."""
    traces = []
    for seed in seeds:
        envs, rng = copies_of(name, draws, info="full"), np.random.default_rng(seed)
        traces.append([mapped(agent, envs, seed, rng) for _ in range(proposals)])
    return np.concatenate(traces, axis=1)


def mapped(agent, envs, seed, rng):
    """Construct a mapping in each copy; an agent of None chooses at random."""
    seen, info = envs.reset(seed=seed)
    found = np.full(envs.num_envs, np.nan)
    while np.isnan(found).any():
        masks = torch.as_tensor(envs.action_masks())
        if agent:
            actions, _ = agent.act(agent.scaled(seen), masks, rng)
        else:
            actions = (masks.numpy() * rng.random(masks.shape)).argmax(axis=1)
        seen, _, over, _, info = envs.step(actions)
        if over.any():
            first = over & np.isnan(found)
            found[first] = (info["objective"] / info["optimum"])[first]
            # What these copies construct until the others are done does not count.
            seen, _ = envs.reset(options={"reset_mask": over})
    return found


if __name__ == "__main__":
    from maestro_env.mappers.parts.threads import one_thread

    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--samples", type=int, default=1_000_000, help="decisions of training")
    samples = flags.parse_args().samples
    with one_thread():
        policy = train("construct-train-wide", 0, samples, Constructor, gamma=1.0)
        for test in ("network", "accelerator", "both"):
            best = np.minimum.accumulate(proposed(policy, f"construct-{test}", [0]))
            after = np.exp(np.log(best).mean(axis=1))[[0, -1]].round(2)
            print(f"{test}: x optimum after 1 and 10 proposals: {after}")
