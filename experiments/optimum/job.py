"""The search for the optimum of a layer: prove, keep, report."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments import cli, files, flags
from experiments.claims import held
from experiments.flags import option
from experiments.goals import Goal, ProblemConfig, make_goal, write_mapping
from experiments.optimum.state import Progress, State
from experiments.plots import save
from experiments.progress import Bar
from experiments.sheets import Sheet
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import find_hardware
from maestro_env.objectives import OBJECTIVES
from maestro_env.optimum import OptimumSearch
from maestro_env.workloads import find_layer
from mappers.optimum import begin

_SECONDS_BETWEEN_WRITES = 5.0
_NODES_BETWEEN_LOOKS = 100_000


@dataclass(frozen=True)
class _Problem:
    """The flags that say what is searched."""

    layer: str = option(
        "mobilenetv2_l2", "a name of experiments.run --list-layers, or another layer it takes"
    )
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class OptimumConfig(ProblemConfig, _Problem):
    """Find the best mapping of a layer and prove that no other costs less."""

    start: int = option(1000, "samples of marl first, which give a cost to improve on")
    seed: int = option(0, "of these samples")
    gap: float = option(0.0, "end if the best is at most so far above the bound, as a share of it")
    nodes: int = option(10**12, "end after so many boxes of mappings", least=1, most=10**15)
    samples: int = option(10**9, "end after so many evaluated mappings", least=1)
    seconds: float = option(10.0**9, "end after so many seconds")
    threads: int = option(1, "threads of bounds and evaluation", least=1, most=1024)
    out: str | None = option(
        None,
        "where to write (default: the first free runs/<layer>-<objective>-optimum-<n>)",
        value="directory",
    )
    resume: bool = option(False, "continue the interrupted search in --out")
