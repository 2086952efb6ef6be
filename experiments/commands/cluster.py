"""``maestro-env cluster``: learn from samples which parameters share an agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from maestro_env.base.checks import look_up
from maestro_env.clustering import (
    AGENTS,
    LINKAGES,
    MEASURES,
    Clustering,
    ClusteringError,
    Samples,
    cluster,
)
from maestro_env.clustering.algorithm import stability
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.experiments.search.goals import LAYER_HELP, Goal, ProblemConfig, make_goal
from maestro_env.experiments.search.named_mappers import require_fit
from maestro_env.experiments.search.samples import collect, default_cache
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import RecordError, run_directory, safe_name, write_text
from maestro_env.experiments.shell.flags import UsageError, option, svg_option
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.clustering import draw_clustering
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table
from maestro_env.mappers import MAPPERS, own_mappers
from maestro_env.mappers.agents.grouping import refusing, require_agents
from maestro_env.workloads.finding import find_layer

_LEAST_VALID = 500
"""Of fewer samples the best ones are too few for correlations: their errors are above 0.1."""


@dataclass(frozen=True)
class _Samples:
    """The flags that say what is clustered."""

    layer: str = option("mobilenetv2_l2", LAYER_HELP)
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")
    policy: str = option("random", f"mapper that draws the samples: {', '.join(MAPPERS)}")
    samples: int = option(20_000, "number of samples", least=1)
    seed: int = option(0, "seed of the samples and of their halves")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class Config(ProblemConfig, _Samples):
    """Learn from samples which parameters of a layer's mappings share an agent."""

    agents: int | None = option(
        None, f"number of agents (default: {AGENTS}, or one per parameter if fewer)", kind=int
    )
    threshold: float | None = option(
        None, "cut the tree at this height, instead of --agents", kind=float
    )
    measure: str = option("pearson", f"measure of dependence: {', '.join(MEASURES)}")
    linkage: str = option("ward_rows", f"which groups merge first: {', '.join(LINKAGES)}")
    fraction: float = option(0.15, "share of the samples that count as best", least=1e-6, most=1)
    cache: str | None = option(
        None,
        "where samples are kept (default: maestro-env/samples in the user's cache)",
        value="directory",
    )
    out: str | None = option(
        None,
        "JSON file of the groups; the picture has the same name with .png "
        "(default: groups.json in the first free runs/<layer>-<objective>-groups-<n>)",
        value="file",
    )
    svg: bool = svg_option()


def execute(config: Config) -> int:
    """Collect, group, write, print, and return the exit status."""
    goal = _resolve(config)
    problem = goal.problem
    if warning := problem.stride_warning():
        print_errors(f"warning: {warning}")
    cache = default_cache() if config.cache is None else Path(config.cache)
    bar = Bar(config.policy, config.samples)
    collected = collect(goal, config.policy, config.samples, config.seed, cache, bar)
    samples = collected.samples
    if collected.complaint:
        print_errors(f"warning: {collected.complaint}")
    _require_valid(config, samples)
    grouping = partial(
        cluster,
        agents=config.agents,
        threshold=config.threshold,
        measure=config.measure,
        linkage=config.linkage,
        fraction=config.fraction,
    )
    with refusing(f"no groups from {config.samples} samples of {problem.layer}"):
        found = grouping(samples)
    doubts = _stability(samples, grouping, config.seed)
    title = f"{problem.layer} on {problem.hardware.name}"
    with cli.deferred():
        path = _path(config, goal)
        write_text(path, found.groups.to_json())
    agents = [(agent, ", ".join(names)) for agent, names in found.groups.items()]
    Table(f"Agents of {title}", ("agent", "parameters"), (), agents).print()
    search, kept = f"policy {config.policy}, seed {config.seed}", collected.path
    ledger = f"0 spent, {len(samples):,} from {kept} ({search})"
    if collected.spent:
        ledger = f"{collected.spent:,} spent ({search}), kept in {kept}"
    valid = f"{np.count_nonzero(samples.rewards):,} of {len(samples):,} samples"
    print_lines(*_facts(config, found), f"stability: {doubts}")
    print_lines(f"valid: {valid}", f"samples: {ledger}", f"groups: {path}")
    heading = f"{title}: {goal.objective.name}"
    plot(path.with_suffix(".png"), lambda: draw_clustering(found, heading), config.svg)
    return 0


def _resolve(config: Config) -> Goal:
    """Look up and check everything that can be before a sample is spent."""
    agents, threshold = config.agents, config.threshold
    goal = make_goal(config, find_layer(config.layer), config.accelerator(), config.objective)
    if config.policy == "all" or "," in config.policy:
        raise UsageError(f"--policy {config.policy}: allowed: one of {', '.join(own_mappers())}")
    require_fit([config.policy], [goal])
    if agents is not None and threshold is not None:
        raise UsageError(f"--agents {agents} and --threshold {threshold}: give one of them")
    if agents is not None:
        require_agents(agents, goal.problem.space)
    look_up("measure", config.measure, MEASURES)
    look_up("linkage", config.linkage, LINKAGES)
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


def _require_valid(config: Config, samples: Samples) -> None:
    """Refuse samples of which too few are valid, as groups of them would be chance."""
    valid, least = np.count_nonzero(samples.rewards), min(_LEAST_VALID, len(samples))
    if valid < least:
        raise UsageError(
            f"{valid:,} of {len(samples):,} samples are valid, too few to tell groups from chance; "
            f"allowed: {least} or more: take more --samples, or --policy random_moves, whose "
            "mappings fit the buffers"
        )


def _path(config: Config, goal: Goal) -> Path:
    """Return the path of the groups; make the default one's directory."""
    if config.out is not None:
        return Path(config.out)
    stem = f"{safe_name(goal.problem.layer.name)}-{safe_name(goal.objective.name)}-groups"
    return run_directory(None, stem) / "groups.json"


def _facts(config: Config, found: Clustering) -> Iterator[str]:
    dependence, heights = found.dependence, found.tree.merges[:, 2]
    names, matrix = dependence.names, dependence.matrix
    yield f"measure: {config.measure}: {MEASURES[config.measure].summary}"
    yield f"linkage: {config.linkage}: {LINKAGES[config.linkage].summary}"
    strength = np.abs(np.triu(matrix, k=1))
    row, column = np.unravel_index(strength.argmax(), strength.shape)
    yield f"strongest: {matrix[row, column]:.3f} between {names[row]} and {names[column]}"
    if len(heights):
        yield f"merges: at heights from {heights[0]:.3f} to {heights[-1]:.3f}"
    if not all(dependence.varying):
        still = (name for name, varies in zip(names, dependence.varying, strict=True) if not varies)
        yield f"without variance: {', '.join(still)}"


def _stability(samples: Samples, grouping: partial[Clustering], seed: int) -> str:
    try:
        found = stability(samples, np.random.default_rng(seed), grouping)
    except ClusteringError as error:
        return f"unknown, as half the samples make no groups: {error}"
    return (
        f"groups of half the samples agree {found.with_whole:.2f} with these, "
        f"{found.of_halves:.2f} with those of the other half (1: the same, 0: by chance)"
    )
