"""Proves optima as ``maestro-env optimum`` does, and checks the certificates.

python tests/proofs.py paper       the cells of the paper's tables and those for tuning
python tests/proofs.py full17      five convolutions outside of the zoo, whose windows are cut too
python tests/proofs.py unusual     the 500 of split ``ood-both`` of ``maestro-env benchmark``
python tests/proofs.py SEED        30 random layers, each on two of 10 random machines

Searches take one thread, and at most 30 seconds for ``full17``, 60 for the others; proposals of the
prior are in their time. Certificates are checked where the search took no more than 20 seconds. For
``paper`` also says what ``marl`` finds with 20,000 samples, in seconds of the processor.
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
from optimum_helpers import EDP, LATENCY, problem

from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.verify import verify
from maestro_env.experiments.problems.drawn import between
from maestro_env.experiments.problems.splits import MACHINES, unusual_problems
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.solving import Limits, solve
from maestro_env.workloads.layer import Layer

REPORTED = (
    *("mobilenetv2_l2", "mobilenetv2_l3", "mobilenetv2_l51", "vgg16_l1", "vgg16_l2", "vgg16_l8"),
    *("resnet50_l2", "bert_base_l4"),
)
TUNED = ("resnet18_l2", "resnet18_l16", "alexnet_l2", "gpt2_l4")
OBJECTIVES = (LATENCY, EDP)
SECONDS = {"full17": 30.0}
CERTIFIED = 20.0

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


def full17_cells() -> Iterator[Cell]:
    layers = [
        *(Layer("CONV", _convolution(*each)) for each in ((96, 48, 30, 3), (320, 160, 16, 3))),
        Layer("CONV", _convolution(80, 24, 62, 7)),
        Layer("DSCONV", {"C": 192, "Y": 62, "X": 62, "R": 7, "S": 7}),
        Layer("CONV", _convolution(48, 3, 227, 7), (4, 4)),
    ]
    for layer, machine in product(layers, MACHINES[:2]):
        yield Problem(MapSpace(layer, machine, "full17")), EDP


def _convolution(kernels: int, channels: int, side: int, window: int) -> dict[str, int]:
    return {"K": kernels, "C": channels, "Y": side, "X": side, "R": window, "S": window}


def unusual_cells() -> Iterator[Cell]:
    for each in unusual_problems():
        yield each.goal.problem, each.goal.objective


def prove(task: Problem, objective: Objective, path: Path, seconds: float) -> dict[str, float]:
    """Search for an optimum and check its certificate; seconds of each."""
    found = solve(task, objective, Limits(seconds=seconds))
    size, verified = 0, np.nan
    if found.proven and found.seconds <= CERTIFIED:
        best = found.value if found.point is not None else None
        size = certify(task, objective, best, found.point, found.bound, path).bytes
        began = time.process_time()
        verify(path)
        verified = time.process_time() - began
    return {
        "best": found.value,
        "gap": found.gap,
        "boxes": found.nodes,
        "samples": found.samples,
        "seconds": found.seconds,
        "bytes": size,
        "verified": verified,
    }


def beside_marl(task: Problem, objective: Objective, best: float) -> dict[str, float]:
    """Say what ``marl`` finds with 20,000 samples, and in which time."""
    evaluator = Evaluator(task, objective, 20_000)
    began = time.process_time()
    make_mapper("marl").search(evaluator, evaluator.budget, np.random.default_rng(0))
    took = time.process_time() - began
    found = evaluator.best.value if evaluator.best else np.inf
    return {"marl/optimum": found / best, "marl_seconds": took}


def main(which: str) -> None:
    named = {"paper": named_cells, "full17": full17_cells, "unusual": unusual_cells}
    cells = named[which]() if which in named else random_cells(int(which))
    proofs = []
    with TemporaryDirectory() as directory:
        path = Path(directory) / "certificate.gz"
        for task, objective in cells:
            proof = prove(task, objective, path, SECONDS.get(which, 60.0))
            if which == "paper":
                proof |= beside_marl(task, objective, proof["best"])
            proofs.append(proof)
            figures = (f"{figure} {value:.7g}" for figure, value in proof.items())
            machine = task.hardware.name or task.hardware
            say(f"{task.layer} {machine} {objective.name}: {', '.join(figures)}")
    say(f"{sum(proof['gap'] == 0 for proof in proofs)} of {len(proofs)} cells at gap 0")
    say(f"{np.mean([proof['seconds'] <= 1 for proof in proofs]):.1%} within a second")
    for figure in proofs[0]:
        values = [proof[figure] for proof in proofs]
        say(f"{figure}: median {np.nanmedian(values):.4g}, most {np.nanmax(values):.4g}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
