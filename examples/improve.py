"""PPO that improves mappings move by move, with random moves and ga_log: tables and curves."""

import argparse
import os
import sys

from stable_baselines3 import PPO

from maestro_env.environments.improving import MaestroImproveVectorEnv
from maestro_env.environments.sb3 import SB3VecEnv
from maestro_env.experiments.shell import cli
from maestro_env.mappers import register_mapper
from maestro_env.mappers.base import Mapper
from maestro_env.mappers.parts.threads import one_thread

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=200_000, help="mappings of each search")
flags.add_argument("--seeds", type=int, default=5, help="searches of each method and layer")
flags.add_argument("--out", default="runs/improve", help="folder; with it, searches go on there")
given = flags.parse_args()

# The best of a few settings on resnet18_l8 and alexnet_l2.
SETTINGS = {"learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.9, "ent_coef": 0.02}


def copies_of(evaluator, budget):
    """Make the copies that a search steps together."""
    return MaestroImproveVectorEnv(evaluator, num_envs=16, episode_length=500, budget=budget)


class RandomMoves(Mapper):
    """Moves drawn uniformly."""

    def search(self, evaluator, budget, rng):
        copies, seed = copies_of(evaluator, budget), int(rng.integers(2**31))
        copies.reset(seed=seed)
        copies.action_space.seed(seed)
        while not copies.exhausted:
            copies.step(copies.action_space.sample())


class PpoMoves(Mapper):
    """PPO of stable-baselines3."""

    def search(self, evaluator, budget, rng):
        copies, seed = copies_of(evaluator, budget), int(rng.integers(2**31))
        steps = {"n_steps": 128, "batch_size": 256, "device": "cpu", "seed": seed}
        with one_thread():
            agent = PPO("MlpPolicy", SB3VecEnv(copies), **SETTINGS, **steps)
            agent.learn(budget + 16, callback=lambda *_: not copies.exhausted)


register_mapper("random_moves", RandomMoves)
register_mapper("ppo_moves", PpoMoves)
layers = "--layers=resnet18_l2,mobilenetv2_l2,gpt2_l4,bert_base_l4"
asked = [layers, "--hardware=edge", "--objectives=edp", "--mappers=random_moves,ppo_moves,ga_log"]
asked += [f"--samples={given.samples}", f"--seeds={given.seeds}", f"--out={given.out}"]
os.makedirs(given.out, exist_ok=True)
sys.exit(cli.main("compare", [*asked, "--resume"]))
