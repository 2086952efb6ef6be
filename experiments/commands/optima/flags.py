"""The flags of ``maestro-env optima``."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.experiments.shell.flags import option, out_option, resume_option, threads_option
from maestro_env.mapspace.space import SCHEMAS
from maestro_env.optimum.search import MOST_NODES


@dataclass(frozen=True)
class Config:
    """Find and prove the optima of many layers, accelerators and objectives, one after the other.

    Layers of one shape are one cell. Existing results are searched again only if limits are higher.
    Several processes can work on one directory.
    """

    layers: str = option("all", "names of layers, separated by commas; all: every shape of the zoo")
    hardware: str = option("unlimited,edge", f"some of {', '.join(PRESETS)}, separated by commas")
    objectives: str = option(
        "latency,edp", f"what to minimise, some of {', '.join(OBJECTIVES)}, separated by commas"
    )
    schema: str = option("legal13", f"parameters of a mapping: {', '.join(SCHEMAS)}")
    seconds: float = option(60.0, "end a search after this many seconds")
    nodes: int = option(
        MOST_NODES, "end a search after this many boxes of mappings", least=1, most=MOST_NODES
    )
    threads: int = threads_option("bounds and evaluation")
    out: str | None = out_option("the first free runs/optima-<n>")
    resume: bool = resume_option(extended=True)
    write: bool = option(False, "write the optima to the table of maestro_env.optimum.known")
