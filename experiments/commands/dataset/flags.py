"""The flags of ``maestro-env dataset``."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.experiments.search.goals import ProblemConfig
from maestro_env.experiments.shell.flags import option, out_option
from maestro_env.mappers.parts.arrays import DRAWS


@dataclass(frozen=True)
class _Rows:
    """The flags that say what is drawn."""

    layers: str = option("resnet18_l2", "layers as for run, separated by commas")
    samples: int = option(100_000, "rows per layer", least=1)
    draw: str = option(
        "uniform",
        f"how mappings are drawn: {', '.join(DRAWS)} (sizes log-uniform), or by searches of a "
        "mapper, as for run",
    )
    objective: str = option("edp", f"what the mapper minimises: {', '.join(OBJECTIVES)}")
    seed: int = option(0, "seed; the same seed gives the same files")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class Config(ProblemConfig, _Rows):
    """Write mappings of layers with all figures of the cost model, as Parquet files."""

    threads: int = option(1, "files to make at a time", least=1, most=1024)
    out: str | None = out_option("the first free runs/dataset-<n>")
    resume: bool = option(False, "resume the data set in --out")
