"""A single agent by PPO, which chooses a mapping at once, and by DQN, one parameter a step."""

import argparse

import gymnasium
from stable_baselines3 import DQN, PPO

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=20_000, help="mappings of each learner")
samples = flags.parse_args().samples

problem = {"layer": "resnet18_l2", "objective": "edp", "reward": "log"}

# A mapping is the whole episode, so no value follows it.
env = gymnasium.make("maestro_env:MaestroEnv-v1", **problem, episode_length=1)
PPO("MlpPolicy", env, n_steps=min(samples, 512), seed=0).learn(samples)
print(f"PPO: best EDP {env.unwrapped.best_objective:.4g} cycles x nJ")

# DQN needs one discrete action a step; a mapping takes as many steps as it has parameters.
env = gymnasium.make("maestro_env:MaestroEnv-v1", **problem, action="discrete_steps")
steps = samples * len(env.unwrapped.space.parameters)
DQN("MlpPolicy", env, learning_starts=steps // 10, seed=0).learn(steps)
print(f"DQN: best EDP {env.unwrapped.best_objective:.4g} cycles x nJ")
