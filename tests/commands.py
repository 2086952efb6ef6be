"""The commands, as tests call them: flags in, exit status out."""

from __future__ import annotations

from functools import partial

from maestro_env.experiments.shell import cli

audit = partial(cli.main, "audit")
bench = partial(cli.main, "bench")
benchmark = partial(cli.main, "benchmark")
cluster = partial(cli.main, "cluster")
codesign = partial(cli.main, "codesign")
compare = partial(cli.main, "compare")
completion = partial(cli.main, "completion")
dataset = partial(cli.main, "dataset")
evaluate = partial(cli.main, "evaluate")
explain = partial(cli.main, "explain")
hardware = partial(cli.main, "hardware")
layers = partial(cli.main, "layers")
map_network = partial(cli.main, "map")
optima = partial(cli.main, "optima")
optimum = partial(cli.main, "optimum")
paper = partial(cli.main, "paper")
pretrain = partial(cli.main, "pretrain")
quantise = partial(cli.main, "quantise")
replay = partial(cli.main, "replay")
report = partial(cli.main, "report")
run = partial(cli.main, "run")
sparse = partial(cli.main, "sparse")
sweep = partial(cli.main, "sweep")
validation = partial(cli.main, "validation")
verify = partial(cli.main, "verify")
