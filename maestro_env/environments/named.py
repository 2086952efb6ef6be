"""The tasks that have names: ids of Gymnasium's registry, from easy to hard.

It imports nothing heavy: the ids are registered whenever gymnasium is imported.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "maestro_env"


@dataclass(frozen=True)
class NamedTask:
    """A layer, an accelerator and an objective; all else as ``MaestroImproveEnv`` has it.

    Args:
        hardware: as ``find_hardware`` takes it.
        layer: as ``find_layer`` takes it.
        objective: as ``find_objective`` takes it.
    """

    hardware: str
    layer: str
    objective: str

    @property
    def name(self) -> str:
        return f"{self.hardware}-{self.layer}-{self.objective}"

    @property
    def id(self) -> str:
        """What ``gymnasium.make`` takes."""
        return f"{NAMESPACE}/{self.name}-v1"


TASKS = tuple(
    NamedTask(*each)
    for each in (
        ("unlimited", "resnet18_l2", "latency"),
        ("unlimited", "gpt2_l4", "edp"),
        ("unlimited", "mobilenetv2_l2", "edp"),
        ("cloud", "resnet50_l2", "edp"),
        ("cloud", "bert_base_l4", "latency"),
        ("edge", "resnet18_l2", "latency"),
        ("edge", "resnet18_l2", "edp"),
        ("edge", "resnet18_l2", "energy"),
        ("edge", "bert_base_l4", "edp"),
        ("edge", "mobilenetv2_l51", "edp"),
        ("edge", "alexnet_l2", "edp"),
        ("edge", "vgg16_l8", "edp"),
    )
)
"""All of them; ``docs/benchmark.md`` says how hard each is, and why."""
