"""What a comparison is asked to do: its flags, and the study they stand for."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.flags import option
from experiments.goals import MAPPERS_HELP, unique
from experiments.study import Study, StudyConfig, make_study
from maestro_env.objectives import OBJECTIVES


@dataclass(frozen=True)
class _Problems:
    """The flags that say what is searched."""

    layers: str = option(
        "resnet18_l2,resnet18_l16,alexnet_l2,gpt2_l4",
        "layers as experiments.run takes them, with commas between",
    )
    objectives: str = option(
        "latency,edp",
        f"what to minimise, some of these with commas between: {', '.join(OBJECTIVES)}",
    )
    mappers: str = option("all", MAPPERS_HELP)


@dataclass(frozen=True)
class CompareConfig(StudyConfig, _Problems):
    """Compare mappers on layers and objectives; write tables, a ledger and figures."""


def resolve(config: CompareConfig) -> Study:
    """Look up everything a config names.

    Raises:
        MaestroEnvError: a name that does not exist, or names that do not go together.
    """
    layers, objectives = split_layers(config.layers), config.objectives.split(",")
    return make_study(config, layers, objectives, ("--mappers", config.mappers))


def split_layers(text: str) -> tuple[str, ...]:
    """Return the layers of a list with commas between, some of which may belong to a layer.

    In ``resnet18_l2,gemm:M=8,N=8,K=8`` a part such as ``N=8`` continues the layer before it.
    """
    names: list[str] = []
    for part in text.split(","):
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return unique(names)
