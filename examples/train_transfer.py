"""Masked PPO in one file, in the style of CleanRL, which learns on many layers at once.

It improves mappings of layers and accelerators that it has never seen (docs/environments.md).
"""

import argparse

import gymnasium
import numpy as np
import torch
from torch import nn

import maestro_env  # noqa: F401

COPIES, STEPS, EPISODE, BATCH, EPOCHS = 136, 32, 100, 1088, 4
RATE, GAMMA, LAMBDA, ENTROPY, CLIP = 1e-3, 0.98, 0.9, 0.02, 0.2


def copies_of(name, count, **options):
    """Copies on layers of their own; episodes end where we say so."""
    if name.startswith("transfer"):
        options = {"observation": "bottlenecks", "episode_length": 10**9} | options
    mode = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "Disabled"}
    return gymnasium.make_vec(f"maestro_env/{name}-v1", count, **mode, **options).unwrapped


class Agent(nn.Module):
    """A policy, a value, and the mean and variance of what they have seen."""

    def __init__(self, inputs, actions, width=128):
        super().__init__()
        sizes = {"policy": (actions, 0.01), "value": (1, 1.0)}
        for name, (outputs, gain) in sizes.items():
            layers = nn.Linear(inputs, width), nn.Linear(width, width), nn.Linear(width, outputs)
            for layer, scale in zip(layers, (2**0.5, 2**0.5, gain), strict=True):
                nn.init.orthogonal_(layer.weight, scale)
                nn.init.zeros_(layer.bias)
            first, second, last = layers
            self.add_module(name, nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), last))
        self.mean, self.variance, self.count = np.zeros(inputs), np.ones(inputs), 1e-4

    def learn_scale(self, seen):
        """Count what was seen, float32[copies, inputs]."""
        share = len(seen) / (self.count + len(seen))
        off = seen.mean(axis=0) - self.mean
        self.variance += share * (seen.var(axis=0) - self.variance + off**2 * (1 - share))
        self.mean += share * off
        self.count += len(seen)

    def scaled(self, seen):
        """What was seen, with mean 0 and variance 1."""
        scaled = (seen - self.mean) / np.sqrt(self.variance + 1e-6)
        return torch.as_tensor(scaled.clip(-8, 8).astype(np.float32))

    def logits(self, inputs, masks):
        """Logarithms of the chances of allowed moves."""
        return torch.log_softmax(self.policy(inputs).masked_fill(~masks, -1e9), dim=-1)

    @torch.no_grad()
    def act(self, inputs, masks, rng):
        """Draw actions; where nothing is allowed, any."""
        logits = self.logits(inputs, masks).numpy()
        actions = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        return actions, logits[np.arange(len(actions)), actions]


def train(name, seed, moves, made=Agent, gamma=GAMMA, **options):
    """Return a policy that has made so many moves in all copies together."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    envs = copies_of(name, COPIES, **options)
    seen, _ = envs.reset(seed=1000 * seed)
    # Episodes of the copies end one after the other.
    age = rng.integers(EPISODE, size=COPIES)
    agent = made(seen.shape[1], envs.single_action_space.n)
    adam = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    updates = max(1, moves // (COPIES * STEPS))
    for update in range(updates):
        adam.param_groups[0]["lr"] = RATE * (1 - 0.9 * update / updates)
        kept, rewards, ends, values = [], [], [], []
        for _ in range(STEPS):
            agent.learn_scale(seen)
            inputs, masks = agent.scaled(seen), torch.as_tensor(envs.action_masks())
            actions, chances = agent.act(inputs, masks, rng)
            kept.append((inputs, masks, torch.as_tensor(actions), torch.as_tensor(chances)))
            values.append(value_of(agent, inputs))
            seen, paid, over, *_ = envs.step(actions)
            age += 1
            ended = over | (age >= EPISODE)
            if ended.any():  # where it is cut off, not over, what would follow counts
                paid = paid + gamma * (ended & ~over) * value_of(agent, agent.scaled(seen))
                seen, _ = envs.reset(options={"reset_mask": ended})
                age[ended] = 0
            rewards.append(paid)
            ends.append(ended)
        values.append(value_of(agent, agent.scaled(seen)))
        learn(agent, adam, kept, *advantages(rewards, ends, np.array(values), gamma))
        if update % 50 == 0:
            print(f"update {update} of {updates}: mean reward {np.mean(rewards):.3f}", flush=True)
    return agent


@torch.no_grad()
def value_of(agent, inputs):
    """Values of states, float32[copies]."""
    return agent.value(inputs)[:, 0].numpy()


def advantages(rewards, ends, values, gamma):
    """Generalised advantages and what values should be, float32[STEPS * COPIES] each."""
    found, last = np.zeros_like(values[:-1]), 0.0
    for step in reversed(range(STEPS)):
        goes_on = ~ends[step]
        surprise = rewards[step] + gamma * values[step + 1] * goes_on - values[step]
        found[step] = last = surprise + gamma * LAMBDA * goes_on * last
    both = found, found + values[:-1]
    return [torch.as_tensor(each.reshape(-1).astype(np.float32)) for each in both]


def learn(agent, adam, kept, advantage, goal):
    """Update policy and value from one round of all copies."""
    inputs, masks, actions, before = (torch.cat(each) for each in zip(*kept, strict=True))
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(goal)).split(BATCH):
            logits = agent.logits(inputs[rows], masks[rows])
            chosen = logits.gather(1, actions[rows, None])[:, 0]
            ratio, gain = (chosen - before[rows]).exp(), advantage[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            surrogate = torch.min(ratio * gain, ratio.clip(1 - CLIP, 1 + CLIP) * gain).mean()
            error = (agent.value(inputs[rows])[:, 0] - goal[rows]).square().mean()
            doubt = -(logits.exp() * logits.clip(min=-50)).sum(dim=1).mean()
            adam.zero_grad()
            (0.5 * error - surrogate - ENTROPY * doubt).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            adam.step()


def improved(agent, name, seeds, draws=32, moves=500, **options):
    """Objective / optimum after each move, from 32 mappings of a seed: float64[moves + 1, 32 N]."""
    traces = []
    for seed in seeds:
        envs, rng = copies_of(name, draws, info="full", **options), np.random.default_rng(seed)
        seen, info = envs.reset(seed=seed)
        optima, trace = info["optimum"], [info["objective"]]
        for _ in range(moves):
            masks = torch.as_tensor(envs.action_masks())
            seen, *_, info = envs.step(agent.act(agent.scaled(seen), masks, rng)[0])
            trace.append(info["objective"])
        traces.append(np.array(trace) / optima)
    return np.concatenate(traces, axis=1)


if __name__ == "__main__":
    from maestro_env.mappers.parts.threads import one_thread

    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--samples", type=int, default=1_000_000, help="moves of training")
    samples = flags.parse_args().samples
    with one_thread():
        policy = train("transfer-train-wide", 0, samples)
        for test in ("transfer-network", "transfer-accelerator", "transfer-both"):
            best = np.minimum.accumulate(improved(policy, test, [0], moves=100))
            after = np.exp(np.log(best).mean(axis=1))[[0, 10, 30, -1]].round(2)
            print(f"{test}: x optimum before and after 10, 30, 100 moves: {after}")
