"""The flags of ``maestro-env warm``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.search.goals import MAPPERS_HELP, ProblemConfig
from experiments.shell.flags import option


@dataclass(frozen=True)
class _Searches:
    """The flags that say what is searched and how long."""

    networks: str = option(
        "mobilenetv2,resnet50", "networks as map takes them, with commas between"
    )
    objective: str = option("edp", "what to minimise, as run takes it")
    mappers: str = option("ga_log,marl", MAPPERS_HELP)
    samples: str = option("50,100,500", "evaluations of a layer's search, with commas between")
    library: int = option(2000, "evaluations of the search that a library has of a layer", least=1)
    seeds: int = option(10, "searches of a kind, one a seed", least=1, most=10_000)
    seed: int = option(0, "the first seed; the others count up from it")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class WarmConfig(ProblemConfig, _Searches):
    """Search networks layer by layer, from the mappings of similar layers before and from none."""

    jobs: int = option(1, "networks at a time, each in a process of its own", least=1, most=1024)
    out: str | None = option(
        None, "where to write (default: the first free runs/warm-<n>)", value="directory"
    )
    resume: bool = option(False, "continue what is in --out, or join processes that work on it")
