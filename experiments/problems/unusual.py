"""Problems unlike those of the zoo: layers drawn apart from training, by other ranges.

``MACHINES`` are four accelerators that are tight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from maestro_env.accelerators.hardware import Hardware
from maestro_env.experiments.problems.drawn import between, distinct_layers, has_mapping, is_bounded
from maestro_env.experiments.problems.labels import Held, held
from maestro_env.workloads.layer import Layer

UNUSUAL = "unusual"
PROBLEMS = 500
MACHINES = (
    Hardware(168, 64, 110_592, noc_bw=16, offchip_bw=16, name="l1-64"),
    Hardware(256, 512, 110_592, noc_bw=32, offchip_bw=16, name="16x16"),
    Hardware(16_384, 512, 4_194_304, noc_bw=256, offchip_bw=64, name="16k-pes"),
    Hardware(168, 512, 110_592, noc_bw=4, offchip_bw=1, name="narrow"),
)
OBJECTIVES = ("latency", "edp", "energy")

_STREAM = "20261126"
_WINDOWS, _STRIDES = (1, 3, 5, 7), (1, 2, 3, 4)
_MOST_MACS = 10**11


def unusual_problems(
    name: str = UNUSUAL, machines: Sequence[Hardware] = MACHINES, count: int = PROBLEMS
) -> list[Held]:
    """Draw problems; a layer is drawn again if it is the zoo's, or has no mapping or bound.

    Args:
        name: of the split, which decides what is drawn.
        machines: four that the layers run on in turn.
        count: of problems.
    """
    rng, drawn = Random(f"{name} {_STREAM}"), set(distinct_layers())
    problems: list[Held] = []
    for number in range(count):
        machine = machines[number % len(machines)]
        objective = OBJECTIVES[number // len(machines) % len(OBJECTIVES)]
        for layer in _layers(rng, number):
            one = held(name, layer, machine, objective)
            problem = one.goal.require("levels")
            fits = layer.macs <= _MOST_MACS and is_bounded(problem, one.goal.objective)
            if layer.shape not in drawn and fits and has_mapping(problem):
                break
        drawn.add(layer.shape)
        problems.append(one)
    return problems


def _layers(rng: Random, number: int) -> Iterator[Layer]:
    """Draw layers of one kind: half are convolutions, a quarter matrix products."""
    kind = number // (len(MACHINES) * len(OBJECTIVES)) % 8
    while True:
        if kind < 4:
            yield _convolution(rng, "CONV", K=between(rng, 1, 2048), C=between(rng, 1, 2048))
        elif kind < 6:
            rows = 1 if rng.random() < 0.2 else between(rng, 1, 8192)
            extents = {"M": rows, "N": between(rng, 1, 8192), "K": between(rng, 1, 8192)}
            yield Layer("GEMM", extents)
        elif kind == 6:
            yield _convolution(rng, "DSCONV", C=between(rng, 1, 2048))
        else:
            groups = {
                "G": between(rng, 2, 64),
                "K": between(rng, 1, 256),
                "C": between(rng, 1, 256),
            }
            yield _convolution(rng, "NGCONV", **groups)


def _convolution(rng: Random, operator: str, **channels: int) -> Layer:
    extents, stride = dict(channels), (rng.choice(_STRIDES), rng.choice(_STRIDES))
    window = rng.choice(_WINDOWS)
    # A fifth has a window of unequal sides.
    windows = (window, rng.choice(_WINDOWS) if rng.random() < 0.2 else window)
    if rng.random() < 0.8:
        stride = (stride[0], stride[0])
    for axis, side, size in zip("YX", "RS", windows, strict=True):
        extents[axis], extents[side] = between(rng, size, 230), size
    return Layer(operator, extents, stride)
