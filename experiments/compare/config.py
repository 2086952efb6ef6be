"""What a comparison is asked to do: its flags, and the objects they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from experiments.cells import Cell
from experiments.flags import UsageError, option
from experiments.goals import (
    MAPPERS_HELP,
    Goal,
    ProblemConfig,
    find_mappers,
    make_goal,
    require_fit,
    unique,
)
from maestro_env.hardware import find_hardware
from maestro_env.layer import Layer
from maestro_env.objectives import OBJECTIVES
from maestro_env.workloads import find_layer


@dataclass(frozen=True)
class _Searches:
    """The flags that say which searches a comparison consists of."""

    layers: str = option(
        "resnet18_l2,resnet18_l16,alexnet_l2,gpt2_l4",
        "layers as experiments.run takes them, with commas between",
    )
    objectives: str = option(
        "latency,edp",
        f"what to minimise, some of these with commas between: {', '.join(OBJECTIVES)}",
    )
    mappers: str = option("all", MAPPERS_HELP)
    samples: int = option(20_000, "evaluations of one search", least=1)
    seeds: int = option(
        10, "searches per layer, objective and mapper, one a seed", least=1, most=10_000
    )
    seed: int = option(0, "the first seed; the others count up from it")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class CompareConfig(ProblemConfig, _Searches):
    """Compare mappers on layers and objectives; write tables, a ledger and figures."""

    jobs: int = option(1, "searches at a time, each in a process of its own", least=1, most=1024)
    out: str | None = option(
        None, "where to write (default: the first free runs/compare-<n>)", value="directory"
    )
    resume: bool = option(
        False, "continue the comparison in --out, or extend it: what is finished is kept"
    )


@dataclass(frozen=True)
class Comparison:
    """A config resolved.

    Args:
        config: what was asked for.
        goals: by layer, as it was called, and objective.
        mappers: names, in the order they run.
    """

    config: CompareConfig
    goals: Mapping[tuple[str, str], Goal]
    mappers: tuple[str, ...]

    @property
    def seeds(self) -> range:
        return range(self.config.seed, self.config.seed + self.config.seeds)

    def cells(self) -> Iterator[Cell]:
        """Yield all searches, seed by seed, so that a part of them treats all alike."""
        for seed in self.seeds:
            for layer, objective in self.goals:
                for mapper in self.mappers:
                    yield Cell(layer, objective, mapper, seed)

    def settings(self) -> dict[str, Any]:
        """Return what decides the result of a cell, as JSON holds it."""
        flags = asdict(self.config)
        names = ["samples", *(field.name for field in fields(ProblemConfig))]
        goal = next(iter(self.goals.values()))
        return {
            "config": {name: flags[name] for name in names},
            "hardware": asdict(goal.problem.hardware),
        }

    def describe(self) -> dict[str, Any]:
        """Return the settings, and which cells there are."""
        layers, objectives = zip(*self.goals, strict=True)
        cells = {
            "layers": unique(layers),
            "objectives": unique(objectives),
            "mappers": self.mappers,
            "seeds": list(self.seeds),
        }
        return {**self.settings(), "cells": cells}


def resolve(config: CompareConfig) -> Comparison:
    """Look up everything a config names.

    Raises:
        MaestroEnvError: a name that does not exist, or names that do not go together.
    """
    hardware = find_hardware(config.hardware)
    goals = {
        (name, objective): make_goal(config, layer, hardware, objective)
        for name, layer in _find_layers(config.layers).items()
        for objective in unique(config.objectives.split(","))
    }
    mappers = find_mappers("--mappers", config.mappers)
    require_fit(mappers, [goal.problem.space for goal in goals.values()])
    return Comparison(config, goals, mappers)


def _find_layers(text: str) -> dict[str, Layer]:
    """Return layers by the names they are called; one called twice would count twice.

    Raises:
        MaestroEnvError: a layer that does not exist, or one under two names.
    """
    layers = {name: find_layer(name) for name in split_layers(text)}
    called: dict[tuple[object, ...], str] = {}
    for name, layer in layers.items():
        other = called.setdefault((layer.operator, layer.dimensions, layer.stride), name)
        if other != name:
            raise UsageError(f"--layers: {other} and {name} are the same problem: give one of them")
    return layers


def split_layers(text: str) -> tuple[str, ...]:
    """Return the layers of a list with commas between, some of which may belong to a layer.

    In ``resnet18_l2,gemm:M=8,N=8,K=8`` a part such as ``N=8`` continues the layer before it.
    """
    names: list[str] = []
    for part in text.split(","):
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return unique(names)
