"""What a run is asked to do: its flags, and the objects they stand for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from experiments.flags import option
from experiments.goals import (
    MAPPERS_HELP,
    Goal,
    ProblemConfig,
    find_mappers,
    make_goal,
    require_fit,
)
from maestro_env.hardware import Hardware, find_hardware
from maestro_env.layer import Layer
from maestro_env.objectives import OBJECTIVES
from maestro_env.workloads import find_layer


@dataclass(frozen=True)
class _Searches:
    """The flags that say which searches a run consists of."""

    layer: str = option(
        "mobilenetv2_l2", "a name of --list-layers, FILE.csv:ROW, or one such as gemm:M=8,N=8,K=8"
    )
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")
    mapper: str = option("all", MAPPERS_HELP)
    samples: int = option(20_000, "evaluations of one search", least=1)
    seeds: int = option(1, "searches per mapper, one a seed", least=1, most=10_000)
    seed: int = option(0, "the first seed; the others count up from it")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class RunConfig(ProblemConfig, _Searches):
    """Search mappings of one layer; write a run directory with table, traces and plot."""

    threads: int = option(1, "threads of the batch evaluation", least=1, most=1024)
    out: str | None = option(
        None,
        "where to write (default: the first free runs/<layer>-<objective>-<n>)",
        value="directory",
    )
    resume: bool = option(False, "continue the interrupted run in --out")
    list_layers: bool = option(False, "print the known layers and stop")


@dataclass(frozen=True)
class Task(Goal):
    """A config resolved.

    Args:
        config: what was asked for.
        mappers: names, in the order they run.
    """

    config: RunConfig
    mappers: tuple[str, ...]

    @property
    def seeds(self) -> range:
        return range(self.config.seed, self.config.seed + self.config.seeds)

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result, as JSON holds it."""
        flags = asdict(self.config)
        for name in ("out", "resume", "list_layers"):
            del flags[name]
        config = {**flags, "mapper": list(self.mappers), "seeds": list(self.seeds)}
        return {"config": config, **super().describe()}


def resolve(config: RunConfig) -> Task:
    """Look up everything a config names.

    Raises:
        MaestroEnvError: a name that does not exist, or names that do not go together.
    """
    task = make_task(config, find_layer(config.layer), find_hardware(config.hardware))
    require_fit(task.mappers, [task.problem.space])
    return task


def make_task(config: RunConfig, layer: Layer, hardware: Hardware) -> Task:
    """Make the task of a config whose layer and hardware are known.

    Raises:
        MaestroEnvError: a name that does not exist, or names that do not go together.
    """
    goal = make_goal(config, layer, hardware, config.objective)
    mappers = find_mappers("--mapper", config.mapper)
    return Task(goal.problem, goal.objective, goal.lower_bound, config, mappers)


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
