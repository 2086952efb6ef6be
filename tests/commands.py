"""The commands, as tests call them: flags in, exit status out."""

from __future__ import annotations

from functools import partial

from experiments import cli

audit = partial(cli.main, "experiments.audit")
bench = partial(cli.main, "experiments.bench")
cluster = partial(cli.main, "experiments.cluster")
compare = partial(cli.main, "experiments.compare")
completion = partial(cli.main, "experiments.completion")
dataset = partial(cli.main, "experiments.dataset")
evaluate = partial(cli.main, "experiments.evaluate")
exploit = partial(cli.main, "experiments.exploit")
gamma_parity = partial(cli.main, "experiments.gamma_parity")
hardware = partial(cli.main, "experiments.hardware")
layers = partial(cli.main, "experiments.layers")
optima = partial(cli.main, "experiments.optima")
misses = partial(cli.main, "experiments.misses")
optimum = partial(cli.main, "experiments.optimum")
paper = partial(cli.main, "experiments.paper")
run = partial(cli.main, "experiments.run")
tabulate = partial(cli.main, "experiments.tabulate")
validation = partial(cli.main, "experiments.validation")
verify = partial(cli.main, "experiments.verify")
