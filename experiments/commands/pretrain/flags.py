"""The flags of ``maestro-env pretrain``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.shell.flags import option, out_option
from maestro_env.workloads.finding import models


@dataclass(frozen=True)
class Config:
    """Train the mapper prior, or score mappers on problems held out of training.

    Training writes prior.safetensors, which prior:file=FILE uses, and the curve. With --evaluate,
    mappers are scored against proven optima. With --make-labels, training problems are solved, with
    proofs. All three resume what is in --out; several processes can score, or make labels, in one
    directory.
    """

    hold: str | None = option(
        None,
        f"train without the layers of these networks, separated by commas: {', '.join(models())}",
        value="networks",
    )
    imitation: int | None = option(
        None,
        "first steps, of imitation (default: 300 with labels, else 0)",
        kind=int,
    )
    steps: int = option(27_000, "steps of policy gradient", least=0, most=10**7)
    density: float = option(
        1.0, "share of the weights that exist; fewer than all move by RigL", least=0.01, most=1
    )
    seed: int = option(0, "seed of the training or of the labels")
    make_labels: int | None = option(
        None, "number of files of labels to make in --labels, 32 problems each", least=1, kind=int
    )
    evaluate: str | None = option(
        None,
        "methods to score, separated by commas: a file of weights for the mapper prior, a mapper "
        "with settings such as library:keep=tiles, or your own module:Class; {network} is "
        "replaced by the held network",
        value="methods",
    )
    networks: str = option(
        "all", f"networks or their files, separated by commas; all: {', '.join(models())}"
    )
    fresh: int | None = option(
        None,
        "instead of networks, use layers and accelerators that this seed draws as training does",
        kind=int,
    )
    unusual: bool = option(
        False, "instead of networks, use 500 layers on four tight accelerators, always the same"
    )
    seeds: int = option(10, "searches per problem", least=1, most=1000)
    first_seed: int = option(0, "seed of the first search")
    samples: int = option(500, "evaluations per search", least=1, most=10**6)
    labels: str | None = option(
        None, "solved training problems, for training or the mapper library", value="directory"
    )
    jobs: int = option(1, "number of processes", least=1, most=1024)
    out: str | None = out_option("the first free runs/pretrain-<n>")
