"""The benchmark protocol: which problems are held out of training, and their proven optima.

Held problems are all distinct layers of a held network on three accelerators, one of which no
training sees, for latency and for EDP. A mapper that learns may see neither the held accelerator
nor a layer of the held network, whichever network it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from experiments import files
from experiments.datasets import user_cache
from experiments.goals import Goal, ProblemConfig, make_goal
from experiments.machine import processor, versions
from experiments.optima.cells import OptimumCell
from experiments.optima.sweep import Show, sweep
from experiments.proof_records import ProofRecord
from experiments.proofs import Limits
from maestro_env.hardware import PRESETS, Hardware
from maestro_env.layer import Layer
from maestro_env.optima import known_optimum, layer_text
from maestro_env.workloads import models
from maestro_env.workloads.networks import find_network

HELD = Hardware(512, 1024, 2**18, noc_bw=128, offchip_bw=32, name="held")
"""The accelerator that no training sees."""

MACHINES = (PRESETS["unlimited"], PRESETS["edge"], HELD)
OBJECTIVES = ("latency", "edp")
NODES = 10**9
"""Boxes of mappings after which a search for an optimum ends without its proof."""

FRESH = "fresh"
FRESH_LAYERS, FRESH_MACHINES = 30, 3

Draws = tuple[Callable[[np.random.Generator], Layer], Callable[[np.random.Generator], Hardware]]
"""Draw a layer and an accelerator as training does."""


@dataclass(frozen=True)
class Held:
    """A problem that no training has seen, for one objective.

    Args:
        network: that is held out, or ``fresh``.
        cell: its goal.
    """

    network: str
    cell: OptimumCell

    @property
    def goal(self) -> Goal:
        return self.cell.goal

    @property
    def machine(self) -> str:
        return self.goal.problem.hardware.name

    @property
    def objective(self) -> str:
        return self.goal.objective.name

    @property
    def key(self) -> str:
        """What records call it."""
        return f"{layer_text(self.goal.problem.layer)} | {self.machine} | {self.objective}"


@dataclass(frozen=True)
class Optimum:
    """What is known of the least value of a problem: no mapping is below ``bound``.

    It is proven if the two are equal.
    """

    value: float
    bound: float

    @property
    def proven(self) -> bool:
        return self.value == self.bound


def zoo_networks() -> tuple[str, ...]:
    """Return the names of the networks that can be held."""
    return tuple(models())


def shapes(network: str) -> frozenset[str]:
    """Return the shapes of a network's layers, which a training without it must not have.

    Raises:
        NetworkError: no such network.
    """
    return frozenset(layer_text(layer) for layer in find_network(network).layers)


def shared_shapes(network: str) -> dict[str, frozenset[str]]:
    """Return the shapes that other networks of the zoo share with a network, by their names."""
    own = shapes(network)
    return {
        other: both
        for other in zoo_networks()
        if other != network and (both := own & shapes(other))
    }


def held_problems(network: str) -> list[Held]:
    """Return the problems of a held network.

    Raises:
        NetworkError: no such network.
    """
    return _problems(network, find_network(network).layers, MACHINES)


def fresh_problems(seed: int, draws: Draws) -> list[Held]:
    """Draw 30 layers and 3 accelerators from the distribution of training, by a seed of their own.

    Their proofs may not end within ``NODES``.
    """
    draw_layer, draw_machine = draws
    # The word keeps the stream apart from any that training draws from the same seed.
    rng = np.random.default_rng([seed, *FRESH.encode()])
    layers: dict[str, Layer] = {}
    while len(layers) < FRESH_LAYERS:
        layer = draw_layer(rng)
        layers.setdefault(layer_text(layer), layer)
    # Their names say the seed: a directory of proofs may have those of several.
    names = [f"{FRESH}{seed}.{n}" for n in range(FRESH_MACHINES)]
    machines = [replace(draw_machine(rng), name=name) for name in names]
    return _problems(f"{FRESH} {seed}", layers.values(), machines)


def _problems(network: str, layers: Iterable[Layer], machines: Sequence[Hardware]) -> list[Held]:
    held = []
    for layer, machine, objective in product(layers, machines, OBJECTIVES):
        nameless = Layer(layer.operator, layer.extents, layer.stride)
        goal = make_goal(ProblemConfig(), nameless, machine, objective)
        held.append(Held(network, OptimumCell(goal, layer.name)))
    return held


def default_proofs() -> Path:
    """Return where the user's cache keeps searches for optima."""
    return user_cache() / "proofs"


def known_optima(problems: Sequence[Held], directory: Path, show: Show) -> dict[str, Optimum]:
    """Return the optimum of every problem by its key; those that no table has are searched.

    A search goes on where another has ended, and processes share the work.

    Args:
        problems: of one network or several.
        directory: keeps the searches.
        show: is called with the number of finished searches and the next one.
    """
    found = {}
    missing: dict[str, Held] = {}
    for held in problems:
        known = known_optimum(held.goal.problem, held.goal.objective)
        if known is not None and known.proven:
            found[held.key] = Optimum(known.value, known.bound)
        else:
            missing.setdefault(held.key, held)
    if not missing:
        return found
    files.ensure_directory(directory)
    here = {**versions(), "processor": processor()}
    records = []
    for held in missing.values():
        record = ProofRecord(held.cell.path(directory), held.goal, here)
        if record.path.exists():
            record.read("delete it to search again")
        records.append((held.cell, record))
    sweep(records, Limits(nodes=NODES), show, certified=False)
    for held, (_, record) in zip(missing.values(), records, strict=True):
        optimum = record.found.optimum
        if optimum is not None:
            found[held.key] = Optimum(optimum.value, optimum.bound)
    return found
