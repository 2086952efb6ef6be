"""Layers, machines and objectives drawn at random, and training problems by number.

Ranges hold the layers of the zoo, the presets and the published chips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from math import log
from random import Random
from typing import TypeVar

from maestro_env.accelerators.accelerator import HELD, HELD_HARDWARE
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS, UNLIMITED, Hardware
from maestro_env.accelerators.technologies import DEFAULT, TECHNOLOGIES
from maestro_env.accelerators.technology import Technology
from maestro_env.base.checks import look_up
from maestro_env.environments.making import between as between
from maestro_env.environments.task import Task
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.problems import drawn
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.search import OptimumError, OptimumSearch
from maestro_env.workloads.finding import all_layers, models
from maestro_env.workloads.layer import Layer

T = TypeVar("T")

HELD_MACHINE = replace(find_hardware(HELD_HARDWARE), name=HELD)
"""The machine that is never trained on."""

LEAST_MACS, MOST_MACS = 10**3, 10**11
MOST_PES = 2**16
# Words of L2 for each PE, and cycles until the network has sent a word to each.
LEAST_L2_WORDS, MOST_WAIT = 4, 256

_OBJECTIVES = {"latency": 28, "edp": 38, "energy": 20, "area": 4}
# Those with a factor twice are not proven (``is_bounded``).
_PRODUCTS = {
    "latency_cycles*latency_cycles*energy_nj": 3,
    "latency_cycles*energy_nj*energy_nj": 2,
    "latency_cycles*area_um2": 2,
    "energy_nj*area_um2": 2,
    "latency_cycles*energy_nj*area_um2": 2,
}
# Named, so that a new technology does not change what is drawn from a seed.
_TECHNOLOGIES = [TECHNOLOGIES[name] for name in ("maestro", "eyeriss", "accelergy65", "horowitz45")]
SCHEMAS = {"legal13": 85, "full17": 15}
"""How often a schema is drawn, in per cent."""

_OPERATORS = {"CONV": 48, "DSCONV": 12, "GEMM": 28, "NGCONV": 12}
_WINDOWS = {1: 30, 3: 40, 5: 14, 7: 11, 11: 5}
_STRIDES = {1: 66, 2: 20, 3: 6, 4: 8}
_LANES = {1: 86, 2: 4, 4: 4, 8: 2, 16: 2, 64: 2}
_HOP_LATENCIES = {1: 88, 0: 4, 2: 4, 5: 2, 10: 2}


def weighted(rng: Random, weights: Mapping[T, int]) -> T:
    """Draw one of the keys, as often as its weight says."""
    return rng.choices(list(weights), list(weights.values()))[0]


def schema(rng: Random) -> str:
    """Draw the name of a schema."""
    return weighted(rng, SCHEMAS)


def objective(rng: Random) -> Objective:
    """Draw what is minimised; not all of it can be proven (``OptimumSearch``)."""
    return find_objective(weighted(rng, {**_OBJECTIVES, **_PRODUCTS}))


def layer(rng: Random) -> Layer:
    """Draw a layer without a name."""
    while True:
        operator = weighted(rng, _OPERATORS)
        drawn = _matrix_product(rng) if operator == "GEMM" else _convolution(rng, operator)
        if LEAST_MACS <= drawn.macs <= MOST_MACS:
            return drawn


def _matrix_product(rng: Random) -> Layer:
    rows = 1 if rng.random() < 0.2 else _extent(rng, 1, 2**13)
    return Layer("GEMM", {"M": rows, "N": _extent(rng, 1, 2**15), "K": _extent(rng, 1, 2**15)})


def _convolution(rng: Random, operator: str) -> Layer:
    if operator == "NGCONV":
        extents = {"G": between(rng, 2, 64), "K": _extent(rng, 1, 512), "C": _extent(rng, 1, 512)}
    elif operator == "DSCONV":
        extents = {"C": _extent(rng, 1, 2**11)}
    else:
        inputs = rng.choice((1, 3, 4)) if rng.random() < 0.1 else _extent(rng, 1, 2**12)
        extents = {"K": _extent(rng, 1, 2**12), "C": inputs}
    window, stride = weighted(rng, _WINDOWS), weighted(rng, _STRIDES)
    windows, strides = (window, window), (stride, stride)
    outputs = between(rng, 1, 256)
    shape = (outputs, outputs)
    if rng.random() < 0.4:
        windows = (window, weighted(rng, _WINDOWS))
        strides = (stride, weighted(rng, _STRIDES))
        shape = (outputs, between(rng, 1, 256))
    for axes, count, size, step in zip(("YR", "XS"), shape, windows, strides, strict=True):
        # Rows behind the last window are there in networks too.
        extents[axes[0]] = (count - 1) * step + size + rng.randrange(step)
        extents[axes[1]] = size
    if rng.random() < 0.12:
        extents["N"] = between(rng, 2, 32)
    return Layer(operator, extents, strides)


def _extent(rng: Random, least: int, most: int) -> int:
    """Draw an extent, often a multiple of 8 or 16."""
    drawn = between(rng, least, most)
    return drawn - drawn % rng.choice((1, 8, 16)) or drawn


def machine(rng: Random) -> Hardware:
    """Draw a machine without a name, not the held one, whose L2 and network suit its PEs."""
    pes = _pes(rng)
    while True:
        drawn = _machine(rng, pes)
        l2_words = drawn.l2_bytes // drawn.word_bytes
        suits = l2_words >= LEAST_L2_WORDS * pes and drawn.noc_bw * MOST_WAIT >= pes
        if suits and drawn != replace(HELD_MACHINE, name=""):
            return drawn


def _machine(rng: Random, pes: int) -> Hardware:
    technology = DEFAULT if rng.random() < 0.9 else rng.choice(_TECHNOLOGIES)
    word_bytes = technology.word_bytes or (2 if rng.random() < 0.05 else 1)
    # Energies by size need a size.
    unlimited = 0.0 if technology.by_size else 0.12
    return Hardware(
        num_pes=pes,
        l1_bytes=_figure(rng, 12, 48 * 2**10, unlimited),
        l2_bytes=_figure(rng, 2**13, 2**26, unlimited),
        noc_bw=_figure(rng, 1, 2**10, 0.15),
        offchip_bw=_figure(rng, 1, 2**10, 0.15),
        noc_hop_latency=weighted(rng, _HOP_LATENCIES),
        simd_lanes=weighted(rng, _LANES),
        offchip_cost_macs=_offchip_cost(rng, technology),
        technology=technology,
        word_bytes=word_bytes,
    )


def _pes(rng: Random) -> int:
    least, most = (2**14, MOST_PES) if rng.random() < 0.12 else (8, 2**12)
    drawn = _figure(rng, least, most)
    return drawn - drawn % rng.choice((1, 8)) or drawn


def _figure(rng: Random, least: int, most: int, unlimited: float = 0.0) -> int:
    """Draw a figure, half of them powers of two; ``unlimited`` is the chance of that."""
    if rng.random() < unlimited:
        return UNLIMITED
    drawn = between(rng, least, most)
    power = 1 << round(log(drawn, 2))
    return power if rng.random() < 0.5 and least <= power <= most else drawn


def _offchip_cost(rng: Random, technology: Technology) -> float:
    if technology.offchip_macs or rng.random() < 0.85:
        return 0.0
    return rng.choice((200, between(rng, 10, 500)))


_ZOO_MACHINES = 4
_ZOO_OBJECTIVES = ("latency", "edp")


def training_problem(seed: int, number: int) -> Task:
    """Return a problem by its number, from 0."""
    zoo = zoo_problems(seed)
    turn, is_random = divmod(number, 2)
    if turn < len(zoo) and not is_random:
        return zoo[turn]
    return random_problem(Random(f"{seed} problem {number}"))


@cache
def zoo_problems(seed: int) -> tuple[Task, ...]:
    """Return the problems of the zoo's layers, mixed.

    They are all distinct layers on each preset and on four random machines, where a mapping fits,
    for latency and for EDP.
    """
    rng = Random(f"{seed} zoo")
    machines = [*PRESETS.values(), *(drawn.machine(rng) for _ in range(_ZOO_MACHINES))]
    pairs = product(distinct_layers().values(), machines)
    problems = filter(has_mapping, (Problem(MapSpace(*pair)) for pair in pairs))
    tasks = [Task(each, OBJECTIVES[name]) for each in problems for name in _ZOO_OBJECTIVES]
    rng.shuffle(tasks)
    return tuple(tasks)


def random_problem(rng: Random) -> Task:
    """Draw a layer, an objective and a machine on which some mapping of the layer fits."""
    layer, schema, objective = drawn.layer(rng), drawn.schema(rng), drawn.objective(rng)
    while True:
        problem = Problem(MapSpace(layer, drawn.machine(rng), schema))
        if has_mapping(problem):
            return Task(problem, objective)


def has_mapping(problem: Problem) -> bool:
    """Say whether some mapping fits the buffers."""
    return bool(Masks(problem).allowed(()).any())


def is_bounded(problem: Problem, objective: Objective) -> bool:
    """Say whether an optimum is proven: not of powers, whose proofs no prior was trained with."""
    if len(set(objective.factors)) < len(objective.factors):
        return False
    try:
        OptimumSearch.require(problem, objective)
    except OptimumError:
        return False
    return True


def distinct_layers(held: frozenset[str] = frozenset()) -> dict[str, Layer]:
    """Return the zoo's layers by shape, each once; no held ones."""
    return {
        shape: Layer(each.operator, each.extents, each.stride)
        for each in all_layers()
        if (shape := each.shape) not in held
    }


def shapes_of(*networks: str) -> frozenset[str]:
    """Return the shapes of the layers of networks, some of which other networks have too.

    Raises:
        UnknownNameError: no such network in the zoo.
    """
    layers = (look_up("network", each, models()) for each in networks)
    return frozenset(layer.shape for each in layers for layer in each)
