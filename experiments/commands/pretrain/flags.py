"""The flags of ``maestro-env pretrain``."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.experiments.shell.flags import option, out_option
from maestro_env.workloads.finding import models


@dataclass(frozen=True)
class Config:
    """Train the mapper prior.

    Training writes prior.safetensors, which prior:file=FILE uses, and the curve; benchmark scores
    it. With --make-labels, training problems are solved, with proofs. Both resume what is there;
    several processes can make labels in one directory.
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
    labels: str | None = option(None, "solved training problems", value="directory")
    jobs: int = option(1, "number of processes", least=1, most=1024)
    out: str | None = out_option("the first free runs/pretrain-<n>")
