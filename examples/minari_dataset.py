"""A data set of Minari: random mappings are written with their info, and read back."""

import argparse

import gymnasium
import minari

import maestro_env

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=2_000, help="mappings to evaluate")
flags.add_argument("--name", default="maestro/resnet18_l2/random-v0", help="of the data set")
arguments = flags.parse_args()

env = gymnasium.make("maestro_env:MaestroEnv-v1", layer="resnet18_l2", reward="log")
collector = minari.DataCollector(env, record_infos=True)
collector.reset(seed=0)
collector.action_space.seed(0)
for _ in range(arguments.samples):
    _, _, terminated, truncated, _ = collector.step(collector.action_space.sample())
    if terminated or truncated:
        collector.reset()
collector.create_dataset(arguments.name, algorithm_name="random")
collector.close()

dataset = minari.load_dataset(arguments.name)
print(f"{dataset.total_episodes} episodes, {dataset.total_steps} steps")
best = max(dataset, key=lambda episode: episode.rewards.max())
step = best.rewards.argmax()
status = best.infos["status"][step + 1]  # That of step 0 is of the reset.
print(f"best reward: {best.rewards[step]:.3f}, {maestro_env.STATUSES[status]}")
print("its EDP:", best.infos["objective"][step + 1], "cycles x nJ")
env.step(best.actions[step])
print(env.unwrapped.mapping)
minari.delete_dataset(arguments.name)  # Without this line it stays, for other programs.
