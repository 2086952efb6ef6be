"""The benchmark protocol: which problems are held out of training, and their proven optima.

Held problems are all distinct layers of a held network on three accelerators, one of which no
training sees, for latency and for EDP. A mapper that learns may see neither the held accelerator
nor a layer of the held network, whichever network it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random

from experiments.commands.pretrain import drawn
from experiments.commands.pretrain.problems import HELD_MACHINE, has_mapping, random_machine
from experiments.proving.many import OptimumCell, Show, sweep
from experiments.proving.proof import Limits
from experiments.proving.records import ProofRecord
from experiments.search.goals import Goal, ProblemConfig, make_goal
from experiments.shell import files
from experiments.shell.files import user_cache
from experiments.store.versions import processor, versions
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.optimum.known import known_optimum, layer_text
from maestro_env.optimum.search import OptimumError, require_bounded
from maestro_env.workloads.finding import find_network, models
from maestro_env.workloads.layer import Layer

MACHINES = (PRESETS["unlimited"], PRESETS["edge"], HELD_MACHINE)
OBJECTIVES = ("latency", "edp")
NODES, FRESH_NODES = 10**9, 2 * 10**7
"""Boxes of mappings after which a search for an optimum ends without its proof."""

FRESH = "fresh"
FRESH_LAYERS, FRESH_MACHINES = 30, 3


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


def shapes_of(problems: Iterable[Held]) -> frozenset[str]:
    """Return the shapes of held layers, which no training may have."""
    return frozenset(layer_text(held.goal.problem.layer) for held in problems)


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
        layers.setdefault(layer_text(layer), layer)
    # Their names say the seed: a directory of proofs may have those of several.
    names = [f"{FRESH}{seed}.{number}" for number in range(FRESH_MACHINES)]
    machines = [replace(random_machine(rng), name=name) for name in names]
    held = _problems(f"{FRESH} {seed}", layers.values(), machines)
    return [each for each in held if _is_bounded(each.goal) and has_mapping(each.goal.problem)]


def _is_bounded(goal: Goal) -> bool:
    try:
        require_bounded(goal.problem, goal.objective)
    except OptimumError:
        return False
    return True


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


def known_optima(
    problems: Sequence[Held], directory: Path, show: Show, nodes: int = NODES
) -> dict[str, Optimum]:
    """Return the optimum of every problem by its key; those that no table has are searched.

    A search goes on where another has ended, and processes share the work.

    Args:
        problems: of one network or several.
        directory: keeps the searches.
        show: is called with the number of finished searches and the next one.
        nodes: boxes of mappings after which a search ends without its proof.
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
    sweep(records, Limits(nodes=nodes), show, certified=False)
    for held, (_, record) in zip(missing.values(), records, strict=True):
        optimum = record.found.optimum
        if optimum is not None:
            found[held.key] = Optimum(optimum.value, optimum.bound)
    return found
