"""The flags of ``maestro-env pretrain``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.shell.flags import option, out_option
from maestro_env.workloads.finding import models


@dataclass(frozen=True)
class Config:
    """Train the mapper prior, or score mappers on what was held out of training.

    Training writes prior.safetensors, which prior:file=FILE uses, and the curve. With --evaluate,
    mappers are scored against proven optima. With --make-labels, training problems are solved, with
    proofs. All three go on from what --out has; several processes can score, or make labels, in one
    directory.
    """

    hold: str | None = option(
        None,
        f"train without the layers of networks, with commas between: {', '.join(models())}",
        value="networks",
    )
    imitation: int | None = option(
        None,
        "first training steps, which imitate labels (default: 300 with labels, else 0)",
        kind=int,
    )
    steps: int = option(9000, "training steps of policy gradient", least=0, most=10**7)
    seed: int = option(0, "of a training, or of labels")
    make_labels: int | None = option(
        None, "make so many files of labels, of 32 problems each, in --labels", kind=int
    )
    evaluate: str | None = option(
        None,
        "what to score, several with commas between: a file of weights for the mapper prior, a "
        "mapper with settings such as library:keep=tiles, or module:Class of your own; {network} "
        "in it stands for the held network",
        value="methods",
    )
    networks: str = option(
        "all", f"networks or their files, with commas between; all: {', '.join(models())}"
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
        None, "solved training problems, for training or the mapper library", value="directory"
    )
    jobs: int = option(1, "processes that search", least=1, most=1024)
    out: str | None = out_option("the first free runs/pretrain-<n>")
