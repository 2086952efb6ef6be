"""PPO on a task that has a name: returns of its episodes, beside those without training."""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

import maestro_env
from experiments.shown.plots import new_figure, save
from experiments.shown.statistics import bootstrap_interval, iqm
from maestro_env.environments.named import TASKS
from maestro_env.environments.sb3 import SB3VecEnv

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--task", default="edge-resnet18_l2-edp", help=[each.name for each in TASKS])
flags.add_argument("--samples", type=int, default=100_000, help="moves of each agent")
flags.add_argument("--seeds", type=int, default=5, help="agents")
flags.add_argument("--out", type=Path, help="folder for TensorBoard's curves and learning.png")
given = flags.parse_args()
(task,) = (each for each in TASKS if each.name == given.task)
optimum = maestro_env.known_optimum(task.layer, task.objective, task.hardware).value
# The best of a few settings on resnet18_l8 and alexnet_l2.
SETTINGS = {"learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.9, "ent_coef": 0.02}
PARTS = 10


def curve(seed, rate, name):
    """Return the mean return of the episodes that end in each tenth, and best / optimum."""
    copies = gymnasium.make_vec(task.id, 16, vectorization_mode="vector_entry_point").unwrapped
    env, ends = VecMonitor(SB3VecEnv(copies)), [[] for _ in range(PARTS)]
    steps = {"n_steps": min(128, given.samples // 16), "device": "cpu", "seed": seed}
    agent = PPO("MlpPolicy", env, **SETTINGS | {"learning_rate": rate}, **steps,
                batch_size=2 * steps["n_steps"], tensorboard_log=given.out)  # fmt: skip

    def keep(now, _):
        part = min(PARTS * agent.num_timesteps // given.samples, PARTS - 1)
        ends[part] += [each["episode"]["r"] for each in now["infos"] if "episode" in each]
        return True

    agent.learn(given.samples, callback=keep, tb_log_name=name.replace(" ", "_"))
    return [np.mean(each or np.nan) for each in ends], copies.best_objective / optimum


axes = (figure := new_figure((7, 4))).subplots()
at = given.samples * np.arange(1, PARTS + 1) / PARTS
for name, rate in {"PPO": SETTINGS["learning_rate"], "without training": 0.0}.items():
    found, best = zip(*(curve(seed, rate, name) for seed in range(given.seeds)), strict=True)
    middle, (low, high) = iqm(np.array(found)), bootstrap_interval(np.array(found), figure=iqm)
    print(f"{name}: best {iqm(np.array(best)):.3f} times the optimum; return by tenths of moves:")
    print(*(f"{m:.2f} [{a:.2f}, {b:.2f}]" for m, a, b in zip(middle, low, high, strict=True)))
    axes.plot(at, middle, label=name)
    axes.fill_between(at, low, high, alpha=0.2)
axes.set(xlabel="moves", ylabel="return: log(first / last)", title=task.id)
axes.legend(frameon=False)
if given.out:
    save(figure, given.out / "learning.png")
