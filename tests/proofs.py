"""Proves optima and checks the certificates: how long both take, and what ``marl`` finds meanwhile.

python tests/proofs.py paper       the cells of the paper's tables and those for tuning
python tests/proofs.py SEED        30 random layers, each on two of 10 random machines

Each search begins with 1,000 samples of ``marl`` and takes one core. Seconds are those of the
processor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from optimum_helpers import EDP, LATENCY, certified, problem

from experiments.commands.pretrain.training.drawn import between
from experiments.commands.verify.certificate.check import verify
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.search import OptimumSearch
from maestro_env.workloads.layer import Layer
from mappers import make_mapper

REPORTED = (
    *("mobilenetv2_l2", "mobilenetv2_l3", "mobilenetv2_l51", "vgg16_l1", "vgg16_l2", "vgg16_l8"),
    *("resnet50_l2", "bert_base_l4"),
)
TUNED = ("resnet18_l2", "resnet18_l16", "alexnet_l2", "gpt2_l4")
OBJECTIVES = (LATENCY, EDP)
SECONDS = 60.0

Cell = tuple[Problem, Objective]


def named_cells() -> Iterator[Cell]:
    for layer, machine, objective in product(REPORTED + TUNED, ("unlimited", "edge"), OBJECTIVES):
        yield problem(layer, machine), objective


def random_cells(seed: int, layers: int = 30, machines: int = 10) -> Iterator[Cell]:
    rng = Random(seed)
    drawn = [like_a_chip(rng) for _ in range(machines)]
    for layer in [like_a_layer(rng) for _ in range(layers)]:
        for machine, objective in product(rng.sample(drawn, 2), OBJECTIVES):
            yield Problem(MapSpace(layer, machine)), objective


def like_a_layer(rng: Random) -> Layer:
    """Draw a layer of a size that networks have."""
    operator = rng.choice(("CONV", "CONV", "CONV", "DSCONV", "GEMM", "GEMM"))
    if operator == "GEMM":
        return Layer(operator, {dim: between(rng, 1, 4096) for dim in "MNK"})
    extents = {dim: between(rng, 3, 1024) for dim in ("KC" if operator == "CONV" else "C")}
    window, stride = rng.choice((1, 3, 3, 3, 5, 7)), rng.choice((1, 1, 1, 2))
    height = between(rng, 7, 160)
    width = height if rng.random() < 0.7 else between(rng, 7, 160)
    extents |= {"R": window, "S": window, "Y": height + window - 1, "X": width + window - 1}
    return Layer(operator, extents, (stride, stride))


def like_a_chip(rng: Random) -> Hardware:
    """Draw a machine of the kind of ``edge``: from a microcontroller's to four times its size."""
    return Hardware(
        num_pes=between(rng, 16, 1024),
        l1_bytes=between(rng, 128, 4096),
        l2_bytes=between(rng, 2**14, 2**20),
        noc_bw=between(rng, 4, 256),
        offchip_bw=between(rng, 2, 64),
        noc_hop_latency=rng.choice((0, 1, 1, 2)),
        simd_lanes=rng.choice((1, 1, 2, 4)),
        offchip_cost_macs=rng.choice((0, 200)),
    )


def prove(task: Problem, objective: Objective, path: Path) -> dict[str, float]:
    """Search for an optimum, check its certificate, and compare ``marl``; seconds of each."""
    start, whole = (Evaluator(task, objective, samples) for samples in (1000, 20_000))
    run_marl(start)
    search, samples = OptimumSearch(task, objective), 1000
    search.begin_with(start.best)
    began = time.process_time()
    while not search.finished and time.process_time() - began < SECONDS:
        points = search.ask()
        search.tell(points, task.score(points, objective)[0])
        samples += len(points)
    seconds, size, verified = time.process_time() - began, 0, np.nan
    if search.finished:
        size = certified(search, task, objective, path).bytes
        began = time.process_time()
        verify(path)
        verified = time.process_time() - began
    took = run_marl(whole)
    return {
        "best": search.best,
        "gap": 0.0 if search.finished else search.gap,
        "boxes": search.nodes,
        "samples": samples,
        "seconds": seconds,
        "bytes": size,
        "verified": verified,
        "marl/optimum": whole.best.value / search.best if whole.best else np.inf,
        "marl_seconds": took,
    }


def run_marl(evaluator: Evaluator) -> float:
    began = time.process_time()
    make_mapper("marl").search(evaluator, evaluator.budget, np.random.default_rng(0))
    return time.process_time() - began


def main(which: str) -> None:
    proofs = []
    with TemporaryDirectory() as directory:
        path = Path(directory) / "certificate.gz"
        cells = named_cells() if which == "paper" else random_cells(int(which))
        for task, objective in cells:
            proofs.append(prove(task, objective, path))
            figures = (f"{figure} {value:.7g}" for figure, value in proofs[-1].items())
            machine = task.hardware.name or task.hardware
            say(f"{task.layer} {machine} {objective.name}: {', '.join(figures)}")
    say(f"{sum(proof['gap'] == 0 for proof in proofs)} of {len(proofs)} cells at gap 0")
    for figure in proofs[0]:
        values = [proof[figure] for proof in proofs]
        say(f"{figure}: median {np.nanmedian(values):.4g}, most {np.nanmax(values):.4g}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
