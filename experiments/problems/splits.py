"""The splits of the benchmark: which problems a method is scored on, and with which budget.

What training may use is in ``problems.drawn``: the zoo's layers but those of the held network,
and layers and accelerators that ``drawn`` draws. The accelerator ``held`` is in none of it.
Unusual problems are drawn apart from training, by other ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.checks import look_up
from maestro_env.environments.named import TASKS
from maestro_env.experiments.problems import drawn
from maestro_env.experiments.problems.drawn import between, distinct_layers, has_mapping, is_bounded
from maestro_env.experiments.problems.labels import Held, Problems, held
from maestro_env.experiments.shell.flags import UsageError, unique
from maestro_env.models import ANY_MEMORIES, find_accelerator
from maestro_env.workloads.finding import find_layer, find_network, models
from maestro_env.workloads.layer import Layer

UNUSUAL = "unusual"
PROBLEMS = 500
MACHINES = (
    Hardware(168, 64, 110_592, noc_bw=16, offchip_bw=16, name="l1-64"),
    Hardware(256, 512, 110_592, noc_bw=32, offchip_bw=16, name="16x16"),
    Hardware(16_384, 512, 4_194_304, noc_bw=256, offchip_bw=64, name="16k-pes"),
    Hardware(168, 512, 110_592, noc_bw=4, offchip_bw=1, name="narrow"),
)
_OBJECTIVES = ("latency", "edp", "energy")

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
        objective = _OBJECTIVES[number // len(machines) % len(_OBJECTIVES)]
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
    kind = number // (len(MACHINES) * len(_OBJECTIVES)) % 8
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


HELD_ON = (PRESETS["unlimited"], PRESETS["edge"], drawn.HELD_MACHINE)
OBJECTIVES = ("latency", "edp")

_ID_SEED, _TIGHT_SEED = 5, 6
MOST_SAMPLES = 20_000
"""Of a search."""

_LAYERS, _MACHINES, _HIDDEN = 30, 3, 60
# Whose bounds are close.
_CHIPS = {
    "gemmini": ("bert_base_l4", "mobilenetv2_l7"),
    "eyeriss": ("mobilenetv2_l22", "mobilenetv2_l40"),
    "simba": ("mobilenetv2_l0", "mobilenetv2_l51"),
}


@dataclass(frozen=True)
class Split:
    """Problems and the budget of every search.

    Args:
        what: it holds, for people.
        problems: makes them, of networks (None for all) and the seed that draws.
        samples: of a search, unless told.
        seeds: searches for each problem, unless told.
        nodes: boxes of mappings after which the search for an optimum ends without its proof.
        takes: which of ``networks`` and ``seed`` its problems depend on.
        held: whether training must have used none of its layers.
    """

    what: str
    problems: Callable[[str | None, int | None], Problems]
    samples: int
    seeds: int
    nodes: int
    takes: str = ""
    held: bool = True


def find_problems(name: str, networks: str | None, seed: int | None) -> Problems:
    """Return the problems of a split, by network.

    Args:
        name: of the split.
        networks: those held out in turn, separated by commas; None for all of the zoo.
        seed: that draws the problems of ``hidden``.

    Raises:
        UnknownNameError: no such split or network.
        UsageError: networks or a seed for a split that has none, or no seed for ``hidden``.
    """
    split = look_up("split", name, SPLITS)
    for flag, value in (("networks", networks), ("seed", seed)):
        if value is not None and split.takes != flag:
            able = next(each for each, one in SPLITS.items() if one.takes == flag)
            raise UsageError(f"--{flag}: split {name} does not take it; allowed with {able}")
    if split.takes == "seed" and seed is None:
        raise UsageError(f"--split {name} needs --seed N, which draws its problems")
    return split.problems(networks, seed)


def named_problems() -> list[Held]:
    """Return the tasks that have names in Gymnasium's registry."""
    return [
        held("tasks", find_layer(each.layer), find_hardware(each.hardware), each.objective)
        for each in TASKS
    ]


def chip_problems() -> list[Held]:
    """Return layers on chips with all their memories; the table has their certified bounds."""
    return [
        each
        for chip, layers in _CHIPS.items()
        for each in _crossed(
            "chips", map(find_layer, layers), [find_accelerator(chip, ANY_MEMORIES)]
        )
    ]


def held_problems(network: str) -> list[Held]:
    """Return the problems of a held network, by its name in the zoo or its file.

    They are all its distinct layers on three accelerators, for latency and for EDP.

    Raises:
        NetworkError: no such network.
    """
    return _crossed(network, find_network(network).layers, HELD_ON)


def fresh_problems(seed: int, machines: Sequence[Hardware] = ()) -> list[Held]:
    """Draw 30 layers from the distribution of training, by a seed of their own.

    What has no valid mapping, or no bound, is left out.

    Args:
        seed: of the layers.
        machines: that they run on; none for three of the distribution of training.
    """
    # The word keeps the stream apart from those that training draws from the same seed.
    rng = Random(f"{seed} fresh")
    layers: dict[str, Layer] = {}
    while len(layers) < _LAYERS:
        layer = drawn.layer(rng)
        layers.setdefault(layer.shape, layer)
    name = f"fresh{seed}"
    drawn_machines = [
        # Their names say the seed: a directory of proofs may have those of several.
        replace(drawn.machine(rng), name=f"{name}.{number}")
        for number in range(_MACHINES)
    ]
    return [
        each
        for each in _crossed(name, layers.values(), machines or drawn_machines)
        if is_bounded(each.goal.require("levels"), each.goal.objective)
        and has_mapping(each.goal.require("levels"))
    ]


def hidden_problems(seed: int) -> list[Held]:
    """Draw layers unlike those of the zoo, and accelerators as training draws them, by a seed."""
    name, rng = f"hidden{seed}", Random(f"{seed} hidden")
    machines = [replace(drawn.machine(rng), name=f"{name}.{n}") for n in range(len(MACHINES))]
    return unusual_problems(name, machines, _HIDDEN)


def _crossed(network: str, layers: Iterable[Layer], machines: Sequence[Accelerator]) -> list[Held]:
    every = product(layers, machines, OBJECTIVES)
    return [held(network, layer, machine, objective) for layer, machine, objective in every]


def _by_network(networks: str | None, _: int | None) -> Problems:
    names = models() if networks is None else unique(networks.split(","))
    return {name: held_problems(name) for name in names}


def _hidden(_: str | None, seed: int | None) -> Problems:
    assert seed is not None
    return _one(hidden_problems(seed))


def _one(problems: Sequence[Held]) -> Problems:
    return {problems[0].network: problems}


SPLITS = {
    "tasks": Split(
        f"the {len(TASKS)} tasks that have names",
        lambda *_: _one(named_problems()),
        *(10_000, 5, 10**9),
        held=False,
    ),
    "chips": Split(
        f"{len(OBJECTIVES) * sum(map(len, _CHIPS.values()))} problems on chips with all their "
        "memories, whose bounds are certified",
        lambda *_: _one(chip_problems()),
        *(10_000, 5, 20_000),
        held=False,
    ),
    "id": Split(
        "layers and accelerators drawn as those of training",
        lambda *_: _one(fresh_problems(_ID_SEED)),
        *(500, 10, 2 * 10**7),
        held=False,
    ),
    "ood-network": Split(
        "the layers of a network that is held out, each of the zoo's in turn",
        _by_network,
        *(500, 10, 10**9),
        takes="networks",
    ),
    "ood-accelerator": Split(
        "layers drawn as those of training, on four accelerators that are tight",
        lambda *_: _one(fresh_problems(_TIGHT_SEED, MACHINES)),
        *(500, 10, 2 * 10**7),
        held=False,
    ),
    "ood-both": Split(
        "500 layers unlike those of the zoo, on the same four",
        lambda *_: _one(unusual_problems()),
        *(500, 10, 2 * 10**7),
    ),
    "hidden": Split(
        f"{_HIDDEN} layers unlike those of the zoo, on accelerators, both drawn by --seed",
        _hidden,
        *(500, 10, 2 * 10**7),
        takes="seed",
    ),
}
"""By name."""
