"""The flags of ``maestro-env optimum``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.search.goals import LAYER_HELP, ProblemConfig
from experiments.shell.flags import option
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.optimum.search import MOST_NODES


@dataclass(frozen=True)
class _Problem:
    """The flags that say what is searched."""

    layer: str = option("mobilenetv2_l2", LAYER_HELP)
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class OptimumConfig(ProblemConfig, _Problem):
    """Find the best mapping of a layer and prove that none is better."""

    start: int = option(1000, "samples of marl first: a value to improve on", most=10**6)
    seed: int = option(0, "of these samples")
    gap: float = option(0.0, "end with a best value at most this share above the bound")
    nodes: int = option(MOST_NODES, "end after so many boxes of mappings", least=1, most=MOST_NODES)
    samples: int = option(10**9, "end after so many evaluated mappings", least=1)
    seconds: float = option(1e9, "end after so many seconds")
    threads: int = option(1, "threads of bounds and evaluation", least=1, most=1024)
    out: str | None = option(
        None,
        "where to write (default: the first free runs/<layer>-<objective>-optimum-<n>)",
        value="directory",
    )
    resume: bool = option(False, "continue the search in --out")
