"""A layer and an accelerator of your own: the best of many random mappings, and a picture."""

import argparse

import matplotlib.pyplot as plt
import numpy as np

from maestro_env import Hardware, Layer, MaestroEnv
from maestro_env.evaluation.masks import Masks

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=20_000, help="mappings to evaluate")
flags.add_argument("--picture", default="mapping.png", help="file to write")
arguments = flags.parse_args()

# A convolution of 3 x 3 over 17 x 17 inputs, padding included, which gives 8 x 8 outputs.
layer = Layer(
    "CONV", {"K": 64, "C": 32, "Y": 17, "X": 17, "R": 3, "S": 3}, stride=(2, 2), name="mine"
)
hardware = Hardware(
    num_pes=256,
    l1_bytes=1024,  # of one PE
    l2_bytes=256 * 1024,  # shared
    noc_bw=64,  # words per cycle
    offchip_bw=16,
    offchip_cost_macs=200,  # energy of a word of main memory, in MACs
    name="mine",
)

env = MaestroEnv(layer, "edp", hardware, render_mode="rgb_array")
env.reset(seed=0)
# Masked samples fit the buffers; of others, few do.
rng = np.random.default_rng(0)
for vector in Masks(env.problem).sample(arguments.samples, rng):
    env.step(vector)

print(env.best_mapping)
cost = env.best_cost
print(f"{cost.latency_cycles:.0f} cycles, {cost.energy_nj:.0f} nJ, {cost.l1_bytes:.0f} bytes of L1")
# The picture is of the last mapping.
env.step(env.best_vector)
plt.imsave(arguments.picture, env.render())
