"""The clustering of one layer's parameters: collect samples, group, doubt, write and draw."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.table import Table

from clustering import (
    AGENTS,
    LINKAGES,
    MEASURES,
    Clustering,
    ClusteringError,
    Samples,
    cluster,
)
from clustering.stability import stability
from experiments import cli
from experiments.cluster.plots import draw_clustering
from experiments.datasets import Collected, collect, default_cache
from experiments.files import RecordError, make_directory, safe_name, write_text
from experiments.flags import UsageError, option
from experiments.goals import Goal, ProblemConfig, find_mappers, make_goal, require_fit
from experiments.progress import Bar, best_note
from experiments.tables import new_table, print_table
from maestro_env.errors import UnknownNameError
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import find_hardware
from maestro_env.objectives import OBJECTIVES
from maestro_env.workloads import find_layer
from mappers import MAPPERS
from mappers.agents.grouping import refusing, require_agents


@dataclass(frozen=True)
class _Samples:
    """The flags that say what is clustered."""

    layer: str = option(
        "mobilenetv2_l2", "a name of experiments.run --list-layers, or another layer it takes"
    )
    objective: str = option("latency", f"what good samples have least: {', '.join(OBJECTIVES)}")
    policy: str = option("random", f"mapper that collects the samples: {', '.join(MAPPERS)}")
    samples: int = option(20_000, "evaluations it spends", least=1)
    seed: int = option(0, "of its search, and of the halves of the samples")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class ClusterConfig(ProblemConfig, _Samples):
    """Learn from samples which parameters of a layer's mappings share an agent."""

    agents: int | None = option(
        None, f"how many (default: {AGENTS}, or one per parameter if these are fewer)", kind=int
    )
    threshold: float | None = option(
        None, "height at which the tree is cut, instead of --agents", kind=float
    )
    measure: str = option("pearson", f"of dependence: {', '.join(MEASURES)}")
    linkage: str = option("ward_rows", f"what merges first: {', '.join(LINKAGES)}")
    fraction: float = option(0.15, "of the samples that are the best ones", least=1e-6, most=1)
    cache: str | None = option(
        None,
        "where samples are kept (default: maestro-env/samples in the user's cache)",
        value="directory",
    )
    out: str | None = option(
        None,
        "JSON file of the groups; the picture is written beside it "
        "(default: groups.json in the first free runs/<layer>-<objective>-groups-<n>)",
        value="file",
    )


def execute(config: ClusterConfig) -> int:
    """Collect, group, write, print, and return the exit status."""
    goal = _resolve(config)
    if warning := goal.problem.stride_warning():
        print(f"warning: {warning}", file=sys.stderr)
    collected = _collect(config, goal)
    if collected.complaint:
        print(f"warning: {collected.complaint}", file=sys.stderr)
    grouping = partial(
        cluster,
        agents=config.agents,
        threshold=config.threshold,
        measure=config.measure,
        linkage=config.linkage,
        fraction=config.fraction,
    )
    with refusing(f"no groups from {config.samples} samples of {goal.problem.layer}"):
        found = grouping(collected.samples)
    doubts = _stability(collected.samples, grouping, config.seed)
    with cli.deferred():
        path = _write(config, goal, found)
    print_table(_table(found, f"{goal.problem.layer} on {goal.problem.hardware.name}"))
    for line in (*_facts(config, found), doubts, _ledger(config, collected)):
        print(line)
    print(f"groups: {path}\nplot: {path.with_suffix('.png')}")
    return 0


def _resolve(config: ClusterConfig) -> Goal:
    """Look up and check everything that can be before a sample is spent.

    Raises:
        MaestroEnvError: what does not exist, is not allowed or does not go together.
    """
    hardware = find_hardware(config.hardware)
    goal = make_goal(config, find_layer(config.layer), hardware, config.objective)
    if find_mappers("--policy", config.policy) != (config.policy,):
        raise UsageError(f"--policy {config.policy}: allowed: one of {', '.join(MAPPERS)}")
    require_fit([config.policy], [goal.problem.space])
    if config.agents is not None and config.threshold is not None:
        raise UsageError(
            f"--agents {config.agents} and --threshold {config.threshold}: give one of them"
        )
    if config.agents is not None:
        require_agents(config.agents, goal.problem.space)
    if config.measure not in MEASURES:
        raise UnknownNameError("measure", config.measure, MEASURES)
    if config.linkage not in LINKAGES:
        raise UnknownNameError("linkage", config.linkage, LINKAGES)
    if config.out is not None:
        _require_free(Path(config.out))
    return goal


def _require_free(path: Path) -> None:
    if path.suffix != ".json":
        raise UsageError(f"--out {path}: allowed: a name that ends in .json")
    if not path.parent.is_dir():
        raise RecordError(f"--out {path}: there is no directory {path.parent}")
    for each in (path, path.with_suffix(".png"), path.with_suffix(".svg")):
        if each.exists():
            raise RecordError(f"{each} exists: give another --out")


def _collect(config: ClusterConfig, goal: Goal) -> Collected:
    # Samples that are there already have no bar.
    with ExitStack() as shown:
        bar: Bar | None = None

        def follow(evaluator: Evaluator) -> None:
            nonlocal bar
            if bar is None:
                bar = shown.enter_context(Bar(config.policy, config.samples))
            bar.show(evaluator.used, best_note(evaluator))

        cache = default_cache() if config.cache is None else Path(config.cache)
        return collect(goal, config.policy, config.samples, config.seed, cache, follow)


def _write(config: ClusterConfig, goal: Goal, found: Clustering) -> Path:
    """Write the groups and their picture; return the path of the groups."""
    layer, objective = goal.problem.layer, goal.objective.name
    if config.out is None:
        stem = f"{safe_name(layer.name)}-{objective}-groups"
        path = make_directory(None, stem) / "groups.json"
    else:
        path = Path(config.out)
    title = f"{layer} on {goal.problem.hardware.name}: {objective}"
    draw_clustering(found, path.with_suffix(".png"), title)
    # Last, so that groups that can be used are complete.
    write_text(path, found.groups.to_json())
    return path


def _table(found: Clustering, title: str) -> Table:
    table = new_table(f"Agents of {title}", ("agent", "parameters"), ())
    for agent, names in found.groups.items():
        table.add_row(agent, ", ".join(names))
    return table


def _facts(config: ClusterConfig, found: Clustering) -> Iterator[str]:
    dependence, heights = found.dependence, found.tree.merges[:, 2]
    yield f"measure: {config.measure}: {MEASURES[config.measure].summary}"
    yield f"linkage: {config.linkage}: {LINKAGES[config.linkage].summary}"
    strength = np.abs(np.triu(dependence.matrix, k=1))
    row, column = np.unravel_index(strength.argmax(), strength.shape)
    yield (
        f"strongest: {dependence.matrix[row, column]:.3f} between {dependence.names[row]} "
        f"and {dependence.names[column]}"
    )
    if len(heights):
        yield f"merges: at heights from {heights[0]:.3f} to {heights[-1]:.3f}"
    if still := [n for n, v in zip(dependence.names, dependence.varying, strict=True) if not v]:
        yield f"without variance: {', '.join(still)}"


def _stability(samples: Samples, grouping: partial[Clustering], seed: int) -> str:
    try:
        found = stability(samples, np.random.default_rng(seed), grouping)
    except ClusteringError as error:
        return f"stability: unknown, as half the samples make no groups: {error}"
    return (
        f"stability: groups of half the samples agree {found.with_whole:.2f} with these, "
        f"{found.of_halves:.2f} with those of the other half (1: the same, 0: by chance)"
    )


def _ledger(config: ClusterConfig, collected: Collected) -> str:
    search = f"policy {config.policy}, seed {config.seed}"
    if collected.spent:
        return f"samples: {collected.spent:,} spent ({search}), kept in {collected.path}"
    return f"samples: 0 spent, {len(collected.samples):,} from {collected.path} ({search})"
