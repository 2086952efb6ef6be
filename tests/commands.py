"""The commands, as tests call them: flags in, exit status out."""

from __future__ import annotations

from functools import partial

from experiments import cli

audit = partial(cli.main, "experiments.audit")
bench = partial(cli.main, "experiments.bench")
cluster = partial(cli.main, "experiments.cluster")
codesign = partial(cli.main, "experiments.codesign")
compare = partial(cli.main, "experiments.compare")
completion = partial(cli.main, "experiments.completion")
dataset = partial(cli.main, "experiments.dataset")
evaluate = partial(cli.main, "experiments.evaluate")
explain = partial(cli.main, "experiments.explain")
exploit = partial(cli.main, "experiments.exploit")
gamma_parity = partial(cli.main, "experiments.gamma_parity")
hardware = partial(cli.main, "experiments.hardware")
layers = partial(cli.main, "experiments.layers")
map_network = partial(cli.main, "experiments.map")
optima = partial(cli.main, "experiments.optima")
misses = partial(cli.main, "experiments.misses")
optimum = partial(cli.main, "experiments.optimum")
paper = partial(cli.main, "experiments.paper")
pretrain = partial(cli.main, "experiments.pretrain")
report = partial(cli.main, "experiments.report")
run = partial(cli.main, "experiments.run")
sweep = partial(cli.main, "experiments.sweep")
tabulate = partial(cli.main, "experiments.tabulate")
validation = partial(cli.main, "experiments.validation")
verify = partial(cli.main, "experiments.verify")
warm = partial(cli.main, "experiments.warm")
