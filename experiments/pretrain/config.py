"""The flags of ``experiments.pretrain``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.flags import option
from maestro_env.workloads import models


@dataclass(frozen=True)
class PretrainConfig:
    """Score mappers on layers and an accelerator held out of training, against proven optima.

    What --out has is not searched again; its other methods stand in the tables beside those asked
    for. Several processes can work on one directory.
    """

    evaluate: str | None = option(
        None,
        "what to score, several with commas between: a file of weights for the mapper prior, a "
        "mapper with settings such as library:keep=tiles, or module:Class of your own; {network} "
        "in it stands for the held network",
        value="methods",
    )
    networks: str = option(
        "all", f"networks to hold out, with commas between; all: {', '.join(models())}"
    )
    fresh: int | None = option(
        None,
        "instead of networks, layers and accelerators drawn from the distribution of training by "
        "this seed",
        kind=int,
    )
    seeds: int = option(10, "searches of every problem", least=1, most=1000)
    first_seed: int = option(0, "seed of the first of them")
    samples: int = option(500, "evaluations of a search", least=1, most=10**6)
    labels: str | None = option(
        None, "solved training problems, for the mapper library", value="directory"
    )
    jobs: int = option(1, "processes that search", least=1, most=1024)
    out: str | None = option(
        None, "where to write (default: the first free runs/pretrain-<n>)", value="directory"
    )
