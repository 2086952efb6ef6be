"""Searches by other libraries, to enter the benchmark with (docs/benchmark.md).

maestro-env benchmark run examples.baselines:CmaEs
maestro-env benchmark run examples.baselines:MaskedPpo --seeds 2

Agents improve mappings move by move in 16 copies of MaestroImprove-v1; they and CMA-ES need the
extra ``examples``.
"""

import cma
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from torch import nn
from torch.distributions import Categorical

from maestro_env.environments.improving import MaestroImproveVectorEnv
from maestro_env.environments.sb3 import SB3VecEnv
from maestro_env.mappers.base import Mapper
from maestro_env.mappers.parts.threads import one_thread

COPIES = 16
# The best of a few settings on resnet18_l8 and alexnet_l2.
PPO_SETTINGS = {"learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.9, "ent_coef": 0.02}


class CmaEs(Mapper):
    """CMA-ES of pycma in the unit cube; it begins again where it has converged."""

    def search(self, evaluator, budget, rng):
        cost = evaluator.problem.objective(evaluator.objective)
        while evaluator.used < budget:
            options = {"bounds": [0, 1], "seed": int(rng.integers(1, 2**31)), "verbose": -9}
            search = cma.CMAEvolutionStrategy(rng.random(len(cost.parameters)), 0.3, options)
            while not search.stop() and evaluator.used < budget:
                asked = search.ask()
                points = np.array([cost.from_unit(shares) for shares in asked])
                points = points[: budget - evaluator.used]
                batch, violations = evaluator.constrain(points)
                valid = np.isfinite(batch.values)
                # Invalid mappings are worse than all valid ones, the more the more they miss.
                penalties = 100 + np.log10(1 + violations)
                losses = np.where(valid, np.log10(np.where(valid, batch.values, 1)), penalties)
                if len(losses) == len(asked):
                    search.tell(asked, losses)


class Agent(Mapper):
    """An agent that learns in copies of the environment until the budget is spent."""

    def search(self, evaluator, budget, rng):
        copies = MaestroImproveVectorEnv(evaluator, COPIES, episode_length=500, budget=budget)
        with one_thread():
            self.learn(copies, budget, int(rng.integers(2**31)))


class StableBaselines(Agent):
    """An agent of stable-baselines3 or sb3-contrib."""

    def learn(self, copies, budget, seed):
        agent = self.make(SB3VecEnv(copies), seed)
        agent.learn(budget + COPIES, callback=lambda *_: not copies.exhausted)


class Ppo(StableBaselines):
    """PPO of stable-baselines3."""

    def make(self, env, seed):
        steps = {"n_steps": 128, "batch_size": 256, "device": "cpu", "seed": seed}
        return PPO("MlpPolicy", env, **PPO_SETTINGS, **steps)


class MaskedPpo(StableBaselines):
    """PPO of sb3-contrib, which takes only moves that the masks allow."""

    def make(self, env, seed):
        steps = {"n_steps": 128, "batch_size": 256, "device": "cpu", "seed": seed}
        return MaskablePPO("MlpPolicy", env, **PPO_SETTINGS, **steps)


class Dqn(StableBaselines):
    """DQN of stable-baselines3: an update a step of all copies."""

    def make(self, env, seed):
        learning = {"learning_rate": 1e-3, "gamma": 0.98, "learning_starts": 500}
        steps = {"train_freq": 1, "exploration_fraction": 0.3, "device": "cpu", "seed": seed}
        return DQN("MlpPolicy", env, **learning, **steps)


class CleanRlPpo(Agent):
    """PPO in one function, as CleanRL writes it."""

    def learn(self, copies, budget, seed):
        torch.manual_seed(seed)
        width, moves = copies.single_observation_space.shape[0], copies.single_action_space.n
        actor = nn.Sequential(nn.Linear(width, 64), nn.Tanh(), nn.Linear(64, moves))
        critic = nn.Sequential(nn.Linear(width, 64), nn.Tanh(), nn.Linear(64, 1))
        weights = [*actor.parameters(), *critic.parameters()]
        optimiser = torch.optim.Adam(weights, lr=1e-3, eps=1e-5)
        seen = torch.as_tensor(copies.reset(seed=seed)[0])
        while not copies.exhausted:
            rows = []
            while len(rows) < 128 and not copies.exhausted:
                with torch.no_grad():
                    policy, value = Categorical(logits=actor(seen)), critic(seen).squeeze(1)
                    action = policy.sample()
                after, rewards, _, truncated, _ = copies.step(action.numpy())
                log_prob = policy.log_prob(action)
                reward = torch.as_tensor(rewards, dtype=torch.float32)
                rows.append((seen, action, log_prob, value, reward, torch.as_tensor(truncated)))
                seen = torch.as_tensor(after)
            self._update(actor, critic, optimiser, rows, seen)

    def _update(self, actor, critic, optimiser, rows, seen):
        states, actions, old, values, rewards, ends = map(torch.stack, zip(*rows, strict=True))
        with torch.no_grad():
            following, advantage = critic(seen).squeeze(1), torch.zeros(COPIES)
        advantages = torch.zeros_like(rewards)
        for step in reversed(range(len(rows))):
            # An episode is cut, not over: what follows it is worth as much as what it ends in.
            following = torch.where(ends[step], values[step], following)
            error = rewards[step] + 0.98 * following - values[step]
            advantage = error + 0.98 * 0.9 * torch.where(ends[step], 0, advantage)
            advantages[step], following = advantage, values[step]
        returns = advantages + values
        flat = [each.flatten(0, 1) for each in (states, actions, old, advantages, returns)]
        for _ in range(10):
            for batch in torch.randperm(len(flat[0])).split(256):
                state, action, before, gain, target = (each[batch] for each in flat)
                policy = Categorical(logits=actor(state))
                ratio = (policy.log_prob(action) - before).exp()
                gain = (gain - gain.mean()) / (gain.std(correction=0) + 1e-8)
                actor_loss = -torch.min(ratio * gain, ratio.clip(0.8, 1.2) * gain).mean()
                critic_loss = (critic(state).squeeze(1) - target).square().mean()
                loss = actor_loss + 0.5 * critic_loss - 0.02 * policy.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
                optimiser.step()
