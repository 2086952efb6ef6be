"""PPO that chooses parameter by parameter, among choices that leave a mapping that fits."""

import argparse

import gymnasium
from sb3_contrib import MaskablePPO

import maestro_env

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=5_000, help="mappings to evaluate")
samples = flags.parse_args().samples

# Of random mappings 1 in 900 fits the buffers of this accelerator; of masked ones, all do.
env = gymnasium.make(
    "MaestroEnv-v1",
    layer="resnet18_l2",
    hardware="edge",
    action="discrete_steps",
    reward="log",
)
steps = samples * len(env.unwrapped.space.parameters)
learner = MaskablePPO("MlpPolicy", env, n_steps=min(steps, 1024), seed=0).learn(steps)

observation, _ = env.reset(seed=0)
ended = False
while not ended:
    masks = env.unwrapped.action_masks()
    action, _ = learner.predict(observation, action_masks=masks, deterministic=True)
    observation, _, ended, _, info = env.step(int(action))
print("learnt:", maestro_env.STATUSES[info["status"]], info["objective"])
print("best:", env.unwrapped.best_objective)
print(env.unwrapped.best_mapping)
