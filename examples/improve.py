"""PPO that improves mappings move by move, against random moves and ga_log: a table and a curve."""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import torch
from stable_baselines3 import PPO

from experiments.shown.regrets import Regrets
from maestro_env import Evaluator, MaestroImproveEnv, known_optimum
from maestro_env.environments.improving import MaestroImproveVectorEnv
from maestro_env.environments.sb3 import SB3VecEnv
from mappers import make_mapper

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=200_000, help="mappings of each search")
flags.add_argument("--seeds", type=int, default=5, help="searches of each method and layer")
flags.add_argument("--out", type=Path, default=Path("runs"), help="folder; searches there are kept")
given = flags.parse_args()

layers, methods = (
    ["resnet18_l2", "mobilenetv2_l2", "gpt2_l4", "bert_base_l4"],
    ["random moves", "PPO", "ga_log"],
)
# The best of a few settings on resnet18_l8 and alexnet_l2.
settings = {"learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.9, "ent_coef": 0.02}
settings |= {"n_steps": min(128, given.samples // 16), "batch_size": 256, "device": "cpu"}


def search(method, evaluator, seed):
    """Evaluate at least as many mappings as are asked for."""
    copies = MaestroImproveVectorEnv(evaluator, num_envs=16, episode_length=500)
    if method == "ga_log":
        make_mapper(method).search(evaluator, given.samples, np.random.default_rng(seed))
    elif method == "PPO":
        PPO("MlpPolicy", SB3VecEnv(copies), seed=seed, **settings).learn(given.samples)
    else:
        copies.reset(seed=seed)
        copies.action_space.seed(seed)
        while evaluator.used < given.samples:
            copies.step(copies.action_space.sample())


torch.set_num_threads(1)
marks = [1_000, 5_000, 20_000, 50_000, 100_000, 200_000]
regrets = Regrets(given.out / "improve.csv", sorted({min(n, given.samples) for n in marks}))
for seed, layer, method in product(range(given.seeds), layers, methods):
    if (layer, method, seed) not in regrets:
        env = MaestroImproveEnv(layer, hardware="edge")
        evaluator = Evaluator(env.problem, env.objective, budget=2 * given.samples + 10_000)
        search(method, evaluator, seed)
        optimum = known_optimum(layer, "edp", "edge").value
        regrets.add((layer, method, seed), evaluator.trace[0], optimum)
print(regrets.sheet().markdown())
regrets.draw(given.out / "improve.png")
