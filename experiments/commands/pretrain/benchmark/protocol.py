"""The benchmark protocol: which problems are held out of training, and their proven optima.

Held problems are all distinct layers of a held network on three accelerators, one of which no
training sees, for latency and for EDP. A mapper that learns may see neither the held accelerator
nor a layer of the held network, whichever network it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from experiments.commands.pretrain.training import drawn
from experiments.commands.pretrain.training.problems import has_mapping, is_bounded
from experiments.proving.many import OptimumCell, Proof
from experiments.search.goals import ProblemConfig, make_goal
from experiments.shell import cli
from experiments.shell.files import ensure_directory, user_cache
from experiments.store.pool import run_cells
from experiments.store.versions import processor, versions
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.optimum.known import KnownOptimum, known_optimum
from maestro_env.optimum.solving import Limits
from maestro_env.workloads.finding import find_network
from maestro_env.workloads.layer import Layer

MACHINES = (PRESETS["unlimited"], PRESETS["edge"], drawn.HELD_MACHINE)
OBJECTIVES = ("latency", "edp")
NODES, FRESH_NODES = 10**9, 2 * 10**7
"""Boxes of mappings after which a search for an optimum ends without its proof."""

FRESH = "fresh"
FRESH_LAYERS, FRESH_MACHINES = 30, 3


@dataclass(frozen=True)
class Held(OptimumCell):
    """A problem that no training has seen, for one objective.

    Args:
        network: that is held out, or ``fresh`` and the seed.
    """

    network: str

    @property
    def machine(self) -> str:
        return self.goal.problem.hardware.name

    @property
    def objective(self) -> str:
        return self.goal.objective.name

    @property
    def shape(self) -> str:
        """Of its layer, which no training may have."""
        return self.goal.problem.layer.shape

    @property
    def key(self) -> str:
        """What records call it."""
        return f"{self.shape} | {self.machine} | {self.objective}"


Problems = Mapping[str, Sequence[Held]]
"""Held problems by network."""


def held_problems(network: str) -> list[Held]:
    """Return the problems of a held network, by its name in the zoo or its file.

    Raises:
        NetworkError: no such network.
    """
    return _problems(network, find_network(network).layers, MACHINES)


def fresh_problems(seed: int) -> list[Held]:
    """Draw 30 layers and 3 accelerators from the distribution of training, by a seed of their own.

    What has no valid mapping, or no bound, is left out.
    """
    # The word keeps the stream apart from those that training draws from the same seed.
    rng = Random(f"{seed} {FRESH}")
    layers: dict[str, Layer] = {}
    while len(layers) < FRESH_LAYERS:
        layer = drawn.layer(rng)
        layers.setdefault(layer.shape, layer)
    # Their names say the seed: a directory of proofs may have those of several.
    names = [f"{FRESH}{seed}.{number}" for number in range(FRESH_MACHINES)]
    machines = [replace(drawn.machine(rng), name=name) for name in names]
    return [
        each
        for each in _problems(f"{FRESH} {seed}", layers.values(), machines)
        if is_bounded(each.goal.two_levels, each.goal.objective)
        and has_mapping(each.goal.two_levels)
    ]


def _problems(network: str, layers: Iterable[Layer], machines: Sequence[Hardware]) -> list[Held]:
    every = product(layers, machines, OBJECTIVES)
    return [held(network, layer, machine, objective) for layer, machine, objective in every]


def held(network: str, layer: Layer, machine: Hardware, objective: str) -> Held:
    """Return the problem of a layer."""
    nameless = Layer(layer.operator, layer.extents, layer.stride)
    return Held(make_goal(ProblemConfig(), nameless, machine, objective), layer.name, network)


def known_optima(problems: Iterable[Held], nodes: int) -> dict[str, KnownOptimum]:
    """Return the optimum of every problem by its key; those that no table has are searched.

    What has no valid mapping has no optimum. The user's cache keeps the searches: one goes on where
    another has ended, and processes share the work.

    Args:
        problems: of one network or several.
        nodes: boxes of mappings after which a search ends without its proof.
    """
    found: dict[str, KnownOptimum] = {}
    missing: dict[str, Held] = {}
    for each in problems:
        known = known_optimum(each.goal.problem, each.goal.objective)
        if known is not None and known.proven:
            found[each.key] = known
        else:
            missing.setdefault(each.key, each)
    if not missing:
        return found
    directory = user_cache() / "proofs"
    ensure_directory(directory)
    here = {**versions(), "processor": processor()}
    limits = Limits(nodes=nodes)
    proofs = {
        key: Proof(each, limits, certified=False, directory=directory, versions=here)
        for key, each in missing.items()
    }
    left = [each for each in proofs.values() if not each.ended]
    if run_cells(left, len(proofs) - len(left), jobs=1) == cli.INTERRUPTED:
        raise KeyboardInterrupt
    for key, proof in proofs.items():
        if optimum := proof.kept.found.optimum:
            found[key] = optimum
    return found
