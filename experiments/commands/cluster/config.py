"""The flags of ``maestro-env cluster``."""

from __future__ import annotations

from dataclasses import dataclass

from clustering import AGENTS, LINKAGES, MEASURES
from experiments.search.goals import LAYER_HELP, ProblemConfig
from experiments.shell.flags import option
from maestro_env.evaluation.objectives import OBJECTIVES
from mappers import MAPPERS


@dataclass(frozen=True)
class _Samples:
    """The flags that say what is clustered."""

    layer: str = option("mobilenetv2_l2", LAYER_HELP)
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
