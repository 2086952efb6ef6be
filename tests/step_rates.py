"""CPU microseconds of a step of one copy: ``MaestroImprove-v1`` beside CartPole.

A script, not a part of the suite: ``python tests/step_rates.py`` prints the table of
docs/environments.md, with EnvPool's row where that is installed (1.1.1). ``--before TREE`` has the
learner of ``examples/train_transfer.py`` make 96,000 moves here and with the package of another
tree, which is built, by turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import maestro_env  # noqa: F401

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "examples"))

TASK = "maestro_env/edge-resnet18_l2-edp-v1"
COUNTS = (1, 16, 4096)
STEPS = 40_000
"""Of all copies together, at least five of each."""
MOVES = 96_000
"""Of the learner."""


def taken(step: Callable[[Any], object], drawn: Callable[[], Any], copies: int) -> float:
    """Return the microseconds of a step of one copy: the least of three rounds."""
    rounds = max(5, STEPS // copies)
    actions, found = [drawn() for _ in range(rounds)], []
    for _ in range(3):
        began = time.process_time()
        for action in actions:
            step(action)
        found.append((time.process_time() - began) / rounds / copies * 1e6)
    return min(found)


def copies_of(name: str, count: int) -> tuple[Any, Callable[[], Any]]:
    """Return one environment or many copies, and what draws their actions."""
    rng = np.random.default_rng(0)
    if count == 1:
        env: Any = gymnasium.make(name).unwrapped
        env.reset(seed=0)
        return env, lambda: int(rng.integers(env.action_space.n))
    envs: Any = gymnasium.make_vec(name, count, vectorization_mode="vector_entry_point").unwrapped
    envs.reset(seed=0)
    return envs, lambda: rng.integers(envs.single_action_space.n, size=count)


def ours(count: int, masks: bool) -> float:
    """Measure steps of the task, with the masks of all moves before each."""
    env, drawn = copies_of(TASK, count)

    def step(action: Any) -> None:
        if masks:
            env.action_masks()
        env.step(action)

    return taken(step, drawn, count)


def cartpole(count: int) -> float:
    """Measure Gymnasium's; a single one begins again where it falls."""
    env, drawn = copies_of("CartPole-v1", count)

    def step(action: Any) -> None:
        ended = env.step(action)[2]
        if count == 1 and ended:
            env.reset()

    return taken(step, drawn, count)


def envpool(count: int) -> float:
    """Measure EnvPool's CartPole with one thread; copies begin again by themselves."""
    from envpool import make_gymnasium

    envs = make_gymnasium("CartPole-v1", num_envs=count, num_threads=1, batch_size=count)
    envs.reset()
    rng = np.random.default_rng(0)
    return taken(envs.step, lambda: rng.integers(2, size=count, dtype=np.int32), count)


def learning(masked: bool) -> float:
    """Return the CPU seconds in which PPO makes 96,000 moves."""
    import torch
    import train_transfer as ppo

    torch.set_num_threads(1)
    torch.manual_seed(0)
    how = {"vectorization_mode": "vector_entry_point", "episode_length": ppo.EPISODE}
    envs: Any = gymnasium.make_vec(TASK, ppo.COPIES, **how).unwrapped
    rng, (seen, _) = np.random.default_rng(0), envs.reset(seed=0)
    agent = ppo.Agent(seen.shape[1], envs.single_action_space.n)
    adam = torch.optim.Adam(agent.parameters(), lr=ppo.RATE, eps=1e-5)
    masks = torch.ones((ppo.COPIES, envs.single_action_space.n), dtype=torch.bool)
    began = time.process_time()
    for _ in range(MOVES // (ppo.COPIES * ppo.STEPS)):
        kept, rewards, ends, values = [], [], [], []
        for _ in range(ppo.STEPS):
            agent.learn_scale(seen)
            inputs = agent.scaled(seen)
            masks = torch.as_tensor(envs.action_masks()) if masked else masks
            actions, chances = agent.act(inputs, masks, rng)
            kept.append((inputs, masks, torch.as_tensor(actions), torch.as_tensor(chances)))
            values.append(ppo.value_of(agent, inputs))
            seen, paid, _, ended, info = envs.step(actions)
            if ended.any():
                last = ppo.value_of(agent, agent.scaled(info["final_obs"]))
                paid = paid + ppo.GAMMA * ended * last
            rewards.append(paid)
            ends.append(ended)
        values.append(ppo.value_of(agent, agent.scaled(seen)))
        found = ppo.advantages(rewards, ends, np.array(values), ppo.GAMMA)
        ppo.learn(agent, adam, kept, *found)
    return time.process_time() - began


def compare(before: str) -> None:
    """Print the medians of three runs of each tree, and how much faster this one is."""
    trees = {"before": Path(before).resolve(), "here": HERE}
    for masked in ("with", "without"):
        taken: dict[str, list[float]] = {name: [] for name in trees}
        for _ in range(3):
            for name, tree in trees.items():
                command = [sys.executable, __file__, "--ppo", masked]
                environment = {**os.environ, "PYTHONPATH": str(tree)}
                done = subprocess.run(
                    command, env=environment, cwd=tree, check=True, capture_output=True, text=True
                )
                taken[name].append(float(done.stdout))
        medians = {name: float(np.median(each)) for name, each in taken.items()}
        cells = " | ".join(f"{each:.1f}" for each in medians.values())
        ratio = medians["before"] / medians["here"]
        sys.stdout.write(f"| PPO {masked} masks | {cells} | {ratio:.2f} |\n")


def main() -> None:
    """Print a table."""
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--before", help="the other tree")
    flags.add_argument("--ppo", choices=["with", "without"], help="print the seconds of one run")
    given = flags.parse_args()
    if given.ppo:
        sys.stdout.write(f"{learning(given.ppo == 'with')}\n")
    elif given.before:
        compare(given.before)
    else:
        rates()


def rates() -> None:
    """Print CPU microseconds of a step."""
    rows: list[tuple[str, Callable[[int], float]]] = [
        (f"`{TASK}`", lambda count: ours(count, masks=False)),
        ("the same, with the masks of all moves", lambda count: ours(count, masks=True)),
        ("`CartPole-v1` of Gymnasium", cartpole),
    ]
    if find_spec("envpool"):
        rows.append(("`CartPole-v1` of EnvPool", envpool))
    for name, measure in rows:
        cells = " | ".join(f"{measure(count):.2g}" for count in COUNTS)
        sys.stdout.write(f"| {name} | {cells} |\n")


if __name__ == "__main__":
    main()
