"""The flags of ``maestro-env codesign``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from maestro_env.accelerators.technologies import DEFAULT, TECHNOLOGIES
from maestro_env.evaluation.models import MODELS
from maestro_env.experiments.search.goals import AnyProblemConfig
from maestro_env.experiments.shell.flags import (
    jobs_option,
    option,
    out_option,
    ray_option,
    resume_option,
    svg_option,
)
from maestro_env.models import ANY_MEMORIES
from maestro_env.prior.proposals import PROPOSALS

WITH_AREAS = tuple(name for name, each in TECHNOLOGIES.items() if each.has_areas)
"""Technologies that know what buffers take up."""

_MAPPER = f"optimum:start=prior:samples={PROPOSALS}:nodes=200000"
_OF_ANY_MEMORIES = "optimum:samples=0:nodes=100"
_SAMPLES, _SAMPLES_OF_ANY_MEMORIES = 1000, 20_000


@dataclass(frozen=True)
class _Designs:
    """The flags that say which accelerators are looked at, and how."""

    networks: str = option(MISSING, "networks as for map, separated by commas")
    num_pes: str = option("42,84,126,168,252,336,504,672", "numbers of PEs, separated by commas")
    l1_bytes: str = option("128,192,256,384,512,768,1024,2048", "capacities of a PE's L1")
    l2_bytes: str = option("27000,54000,108000,216000,432000", "capacities of L2")
    noc_bw: str | None = option(
        None, "words per cycle of the networks-on-chip (default: those of --hardware)", value="list"
    )
    offchip_bw: str | None = option(
        None, "words per cycle of main memory (default: those of --hardware)", value="list"
    )
    sizes: str | None = option(
        None,
        "instead of these five, for --hardware with all its memories: capacities of memories and "
        'sizes of fan-outs, such as "scratchpad=64KB,128KB;rows=8,16" (default: 1/4, 1/2, 1 and 2 '
        "times the capacity of each on-chip memory above the array)",
        value="list",
    )
    area: float | None = option(
        None,
        "budget of PEs and buffers in mm^2 (default: the area of --hardware)",
        most=10**6,
        kind=float,
    )
    technology: str | None = option(
        None,
        f"technology of all accelerators: {', '.join(WITH_AREAS)}; {DEFAULT.name} as GAMMA has "
        "areas and no energy of main memory; or fields as in a file (default: that of --hardware "
        "if it has two buffers, with areas of the first for its words where it has none; else, "
        "and for maestro, the first for its words); energies of a file with all memories stay",
        value="name",
    )
    search: int | None = option(
        None,
        "number of accelerators to evaluate, chosen by NSGA-II (default: all; extra optuna)",
        least=1,
        most=100_000,
        kind=int,
    )
    objective: str = option("edp", "what to minimise for every layer, as for run")
    mapper: str | None = option(
        None,
        f"mapper of every layer, as for run (default: {_MAPPER}; {_OF_ANY_MEMORIES} under "
        f"model {ANY_MEMORIES})",
    )
    samples: int | None = option(
        None,
        f"evaluations per layer (default: {_SAMPLES}; {_SAMPLES_OF_ANY_MEMORIES} under model "
        f"{ANY_MEMORIES}, where proofs take longer than they)",
        least=1,
        kind=int,
    )
    seed: int = option(0, "seed of all searches")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class Config(AnyProblemConfig, _Designs):
    """Map networks to every accelerator of a grid that fits an area; print the Pareto front.

    The front is of latency, energy and area.
    """

    hardware: str = option("edge", "accelerator with all other figures, as for run")
    jobs: int = jobs_option()
    ray: str | None = ray_option()
    out: str | None = out_option()
    resume: bool = resume_option()
    svg: bool = svg_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = "levels" in MODELS[self.model].abilities
        if self.mapper is None:
            object.__setattr__(self, "mapper", _MAPPER if levels else _OF_ANY_MEMORIES)
        if self.samples is None:
            samples = _SAMPLES if levels else _SAMPLES_OF_ANY_MEMORIES
            object.__setattr__(self, "samples", samples)
