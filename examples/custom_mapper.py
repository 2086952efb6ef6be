"""A mapper and an objective of your own: a hill climber that minimises energy x delay^2."""

import argparse

import numpy as np

import maestro_env
from maestro_env.objectives import Objective
from mappers.base import AskTellMapper
from mappers.draws import DRAWS
from mappers.random import LogRandomMapper

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=5_000, help="mappings each mapper evaluates")
samples = flags.parse_args().samples
