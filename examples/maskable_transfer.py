"""MaskablePPO that learns on many layers, and improves mappings of layers it has not seen."""

import argparse

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecNormalize

from maestro_env.environments.sb3 import SB3VecEnv
from maestro_env.mappers.parts.threads import one_thread

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=1_000_000, help="moves to learn from")
samples = flags.parse_args().samples
LENGTH = 100


def copies(name, count, **options):
    """Copies that each draw a layer (and, of train-wide, an accelerator) at every reset."""
    return gymnasium.make_vec(
        f"maestro_env/{name}-v1",
        count,
        vectorization_mode="vector_entry_point",
        observation="bottlenecks",
        episode_length=LENGTH,
        **options,
    ).unwrapped


env = VecNormalize(SB3VecEnv(copies("transfer-train-wide", 136)), norm_reward=False, clip_obs=8)
settings = {"n_steps": 32, "batch_size": 1088, "n_epochs": 4, "gamma": 0.98, "gae_lambda": 0.9}
settings |= {"ent_coef": 0.02, "policy_kwargs": {"net_arch": [128, 128]}, "device": "cpu"}
with one_thread():
    learner = MaskablePPO(
        "MlpPolicy", env, learning_rate=lambda left: 1e-3 * (0.1 + 0.9 * left), seed=0, **settings
    ).learn(samples)
    for name in ("transfer-network", "transfer-accelerator"):
        test = copies(name, 96, info="full")
        seen, info = test.reset(seed=0)
        optima, values = info["optimum"], [info["objective"]]
        for _ in range(LENGTH - 1):  # the last move would begin the next episode
            seen = env.normalize_obs(seen)
            actions, _ = learner.predict(seen, action_masks=test.action_masks())
            seen, *_, info = test.step(actions)
            values.append(info["objective"])
        best = np.minimum.accumulate(values) / optima
        after = np.exp(np.log(best).mean(axis=1))[[0, 10, 30, LENGTH - 1]].round(2)
        print(f"{name}: x optimum before and after 10, 30, 99 moves: {after}")
