"""What a run is asked to do: its flags, and the objects they stand for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from experiments.flags import UsageError, option
from maestro_env.hardware import PRESETS, Hardware, find_hardware
from maestro_env.layer import Layer
from maestro_env.map_space import SCHEMAS, TILES, MapSpace
from maestro_env.models import DEFAULT_MODEL, MODELS, find_model
from maestro_env.objectives import ENERGIES, OBJECTIVES, Objective, find_objective
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer
from mappers import MAPPERS, make_mapper


@dataclass(frozen=True)
class RunConfig:
    """Search mappings of one layer; write a run directory with table, traces and plot."""

    layer: str = option(
        "mobilenetv2_l2", "a name of --list-layers, FILE.csv:ROW, or one such as gemm:M=8,N=8,K=8"
    )
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")
    mapper: str = option("all", f"all, or some of these with commas between: {', '.join(MAPPERS)}")
    samples: int = option(20_000, "evaluations of one search", least=1)
    seeds: int = option(1, "searches per mapper, one a seed", least=1, most=10_000)
    seed: int = option(0, "the first seed; the others count up from it")
    hardware: str = option("paper", f"accelerator: {', '.join(PRESETS)}, FILE.yaml or FILE.m")
    model: str = option(DEFAULT_MODEL, f"cost model: {', '.join(MODELS)}")
    schema: str = option("legal13", f"parameters of a mapping: {', '.join(SCHEMAS)}")
    tiles: str = option("integers", f"choices of a tile size: {', '.join(TILES)}")
    guard: bool = option(True, "accept figures no machine could achieve (model maestro)")
    energy: str = option("total", f"form of energy: {', '.join(ENERGIES)}")
    threads: int = option(1, "threads of the batch evaluation", least=1, most=1024)
    out: str | None = option(
        None,
        "where to write (default: the first free runs/<layer>-<objective>-<n>)",
        value="directory",
    )
    resume: bool = option(False, "continue the interrupted run in --out")
    list_layers: bool = option(False, "print the known layers and stop")


@dataclass(frozen=True)
class Task:
    """A config resolved.

    Args:
        config: what was asked for.
        problem: what is searched.
        objective: what is minimised.
        mappers: names, in the order they run.
        lower_bound: of the objective; None where figures need not be physical.
    """

    config: RunConfig
    problem: Problem
    objective: Objective
    mappers: tuple[str, ...]
    lower_bound: float | None

    @property
    def seeds(self) -> range:
        return range(self.config.seed, self.config.seed + self.config.seeds)

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result, as JSON holds it."""
        layer, space = self.problem.layer, self.problem.space
        flags = asdict(self.config)
        for name in ("out", "resume", "list_layers"):
            del flags[name]
        return {
            "config": {**flags, "mapper": list(self.mappers), "seeds": list(self.seeds)},
            "layer": {
                "name": layer.name,
                "operator": layer.operator,
                "extents": dict(layer.extents),
                "stride": list(layer.stride),
                "dimensions": layer.dimensions,
                "count": layer.count,
                "macs": layer.macs,
            },
            "hardware": asdict(self.problem.hardware),
            "map_space": {
                "size": space.size(),
                "parameters": {each.name: each.choices for each in space.parameters},
            },
            "objective": {
                "name": self.objective.name,
                "unit": self.objective.unit,
                "lower_bound": self.lower_bound,
            },
        }


def resolve(config: RunConfig) -> Task:
    """Look up everything a config names.

    Raises:
        MaestroEnvError: a name that does not exist, or names that do not go together.
    """
    return make_task(config, find_layer(config.layer), find_hardware(config.hardware))


def make_task(config: RunConfig, layer: Layer, hardware: Hardware) -> Task:
    """Make the task of a config whose layer and hardware are known.

    Raises:
        MaestroEnvError: a name that does not exist, or names that do not go together.
    """
    space = MapSpace(layer, hardware, config.schema, config.tiles)
    problem = Problem(space, config.model, config.guard)
    objective = find_objective(config.objective, config.energy)
    model, csv_energy = find_model(config.model), config.energy == "csv"
    if csv_energy and not model.csv_energy:
        others = [f"--model {each.name}" for each in MODELS.values() if each.csv_energy]
        allowed = " or ".join(["--energy total", *others])
        raise UsageError(f"model {model.name} has no csv energy; allowed: {allowed}")
    physical = (config.guard or not model.exploitable) and not csv_energy
    bound = objective.bound(layer, hardware) if physical and objective.bound else None
    return Task(config, problem, objective, _mappers(config.mapper), bound)


def recorded(description: dict[str, Any]) -> Task:
    """Make the task that ``describe`` described, without the files it may have been read from.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: not a description.
    """
    flags, layer = dict(description["config"]), description["layer"]
    seeds = flags.pop("seeds")
    mappers = ",".join(flags.pop("mapper"))
    config = RunConfig(**flags, mapper=mappers, seeds=len(seeds))
    facts = {name: layer[name] for name in ("operator", "extents", "name", "count")}
    return make_task(
        config, Layer(**facts, stride=tuple(layer["stride"])), Hardware(**description["hardware"])
    )


def _mappers(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if names == ("all",):
        names = tuple(MAPPERS)
    elif "all" in names:
        raise UsageError(
            f"--mapper {text}: 'all' stands alone; allowed: all, or some of {', '.join(MAPPERS)}"
        )
    for name in names:
        make_mapper(name)
    return names
