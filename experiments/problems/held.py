"""Problems held out of training, and their proven optima."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.proving.many import OptimumCell, Proof, unfinished
from maestro_env.experiments.search.goals import ProblemConfig, make_goal
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import ensure_directory, user_cache
from maestro_env.experiments.store.pool import run_cells
from maestro_env.experiments.store.versions import processor, versions
from maestro_env.optimum.known import KnownOptimum, known_optimum
from maestro_env.optimum.solving import Limits
from maestro_env.workloads.layer import Layer


@dataclass(frozen=True)
class Held(OptimumCell):
    """A problem of a split, for one objective.

    Args:
        network: that is held out, or the split that the problem is of.
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

    def described(self) -> dict[str, Any]:
        """Return what it is, as JSON holds it."""
        return {"problem": self.key, **described(self.goal.require("levels"), self.goal.objective)}


Problems = Mapping[str, Sequence[Held]]
"""Held problems by network."""


def described(problem: Problem, objective: Objective) -> dict[str, Any]:
    """Return what a program needs to know of a problem, as JSON holds it.

    A vector has a choice of each parameter: a number from 0, whose meaning is in ``values``.
    """
    layer = problem.layer
    return {
        "layer": {
            "operator": layer.operator,
            "extents": dict(layer.extents),
            "stride": list(layer.stride),
        },
        "hardware": problem.hardware.record(),
        "objective": objective.name,
        "parameters": [
            {"name": each.name, "kind": each.kind, "values": list(each.values)}
            for each in problem.space.parameters
        ],
    }


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
    left = unfinished(proofs.values())
    if run_cells(left, len(proofs) - len(left), jobs=1) == cli.INTERRUPTED:
        raise KeyboardInterrupt
    for key, proof in proofs.items():
        if optimum := proof.kept.found.optimum:
            found[key] = optimum
    return found
