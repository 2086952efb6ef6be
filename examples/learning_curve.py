"""PPO on tasks that have names: returns of its episodes, beside random moves and annealing."""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

import maestro_env
from maestro_env.environments.named import CHIP_TASKS, EPISODE_LENGTH, TASKS
from maestro_env.environments.sb3 import SB3VecEnv
from maestro_env.experiments.shown.plots import new_figure, save
from maestro_env.experiments.shown.statistics import bootstrap_interval, iqm
from maestro_env.mappers import make_mapper
from maestro_env.mappers.parts.threads import one_thread

flags, every = argparse.ArgumentParser(description=__doc__), (*TASKS, *CHIP_TASKS)
names = [each.name for each in every]
flags.add_argument("--task", default="edge-resnet18_l2-edp", choices=[*names, "all"])
flags.add_argument("--samples", type=int, default=96_000, help="moves, in multiples of 8,000")
flags.add_argument("--seeds", type=int, default=5, help="agents")
flags.add_argument("--methods", default="annealing,random moves,PPO", help="some of these")
flags.add_argument("--out", type=Path, default="runs/learning", help="for TensorBoard, pictures")
given = flags.parse_args()
MOVES = np.arange(1, max(1, given.samples // (16 * EPISODE_LENGTH)) + 1) * 16 * EPISODE_LENGTH
STEPS = MOVES[-1] // 16


def rewards_of(method, copies, seed, name):
    """Return the mean rewards of the copies, one a step."""
    if method == "random moves":
        copies.action_space.seed(seed)
        return [copies.step(copies.action_space.sample())[1].mean() for _ in range(STEPS)]
    # The best of a few settings on resnet18_l8 and alexnet_l2.
    settings = {"learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.9, "ent_coef": 0.02}
    settings |= {"n_steps": 128, "batch_size": 256, "device": "cpu", "tensorboard_log": given.out}
    env, paid = VecMonitor(SB3VecEnv(copies)), []
    with one_thread():
        keep = lambda now, _: paid.append(now["rewards"].mean()) or True  # noqa: E731
        PPO("MlpPolicy", env, seed=seed, **settings).learn(MOVES[-1], keep, tb_log_name=name)
    return paid[:STEPS]


def annealed(task, env, seed):
    """Return value / optimum at the end of episodes of annealing, from the starts of agents."""
    copies, found = gymnasium.make_vec(task.id, 16, info="full"), []
    for place, start in enumerate(copies.reset(seed=seed)[1]["vector"]):
        evaluator = maestro_env.Evaluator(
            env.problem, env.objective, EPISODE_LENGTH + 1, start=start[np.newaxis]
        )
        rng = np.random.default_rng([seed, place])
        make_mapper("annealing").search(evaluator, EPISODE_LENGTH + 1, rng)
        found.append(evaluator.best.value / optimum)
    return found


for task in (each for each in every if given.task in (each.name, "all")):
    env = gymnasium.make(task.id).unwrapped
    optimum = maestro_env.known_optimum(env.problem, env.objective).value
    axes = (figure := new_figure((7, 3.5))).subplots()
    methods = given.methods.split(",")
    if "annealing" in methods:
        found = [annealed(task, env, seed) for seed in range(given.seeds)]
        text = f"{np.exp(np.log(found).mean()):.2f} x optimum after {EPISODE_LENGTH} moves"
        print(f"{task.name}, annealing: {text}", flush=True)
    for method in (each for each in ("random moves", "PPO") if each in methods):
        starts, paid, ends = [], [], []
        for seed in range(given.seeds):
            copies = gymnasium.make_vec(task.id, 16, vectorization_mode="vector_entry_point")
            # The later episodes begin where these resets do.
            resets = [copies.reset(seed=None if later else seed) for later in range(len(MOVES))]
            starts.append([np.log(told["objective"] / optimum).mean() for _, told in resets])
            copies.reset(seed=seed)
            paid.append(rewards_of(method, copies.unwrapped, seed, task.name))
            ends.append(copies.unwrapped.best_objective / optimum)
        returns = np.reshape(paid, (given.seeds, len(MOVES), EPISODE_LENGTH)).sum(axis=2)
        possible, (low, high) = iqm(np.array(starts)), bootstrap_interval(returns)
        told = (iqm(returns)[-1], low[-1], high[-1], possible[-1], iqm(np.array(ends)))
        text = "{:.2f} [{:.2f}, {:.2f}] of {:.2f}, best {:.3f} x optimum".format(*told)
        print(f"{task.name}, {method}: {text}", flush=True)
        axes.plot(MOVES, iqm(returns), label=method)
        axes.fill_between(MOVES, low, high, alpha=0.2)
    if axes.lines:
        axes.plot(MOVES, possible, color="black", linestyle=":", label="to the optimum")
        axes.set(xlabel="moves", ylabel="return: log(first / last)", title=task.id)
        axes.legend(frameon=False)
        save(figure, given.out / f"{task.name}.png")
