"""The tasks that have names: ids of Gymnasium's registry.

It imports nothing heavy: the ids are registered whenever gymnasium is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maestro_env.accelerators.held import HELD_HARDWARE

NAMESPACE = "maestro_env"


@dataclass(frozen=True)
class NamedTask:
    """A layer, an accelerator and an objective; all else as ``MaestroImproveEnv`` has it.

    Args:
        hardware: as ``find_hardware`` takes it.
        layer: as ``find_layer`` takes it.
        objective: as ``find_objective`` takes it.
        model: as ``find_accelerator`` takes it, which finds the accelerator.
    """

    hardware: str
    layer: str
    objective: str
    model: str = "exact"

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
        ("unlimited", "mobilenetv2_l3", "edp"),
        ("cloud", "resnet50_l3", "edp"),
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
"""Of one layer each; their optima are known."""

CHIP_TASKS = tuple(
    NamedTask(*each, model="hierarchy")
    for each in (
        ("gemmini", "bert_base_l4", "edp"),
        ("gemmini", "mobilenetv2_l7", "edp"),
        ("eyeriss", "mobilenetv2_l22", "edp"),
        ("simba", "mobilenetv2_l0", "edp"),
    )
)
"""On chips with all their memories; of each a mapping is known that is certified to be at most 1 %
above the optimum.
"""

EPISODE_LENGTH = 500
"""Moves of an episode of a task."""


@dataclass(frozen=True)
class Context:
    """Many layers, of which each episode has one: convolutions, for EDP.

    Args:
        name: ``train``, or what of an episode a policy trained there has not seen.
        hardware: as ``find_hardware`` takes it; None for random layers with an accelerator each
            (``wide_pairs``), else layers are of the zoo.
        held: whether the layers are those of ``HELD_NETWORK``, or all others.
        fifth: of the others, whether it has every fifth one, or those between; None for both.
    """

    name: str
    hardware: str | None
    held: bool = False
    fifth: bool | None = None

    @property
    def id(self) -> str:
        """What ``gymnasium.make`` takes."""
        return f"{NAMESPACE}/transfer-{self.name}-v1"


HELD_NETWORK = "mobilenetv2"
CONTEXTS = (
    Context("train", "edge", fifth=False),
    Context("train-wide", None),
    Context("layer", "edge", fifth=True),
    Context("network", "edge", held=True),
    Context("accelerator", HELD_HARDWARE, fifth=False),
    Context("both", HELD_HARDWARE, held=True),
)

_EVERY: tuple[NamedTask | Context, ...] = (*TASKS, *CHIP_TASKS, *CONTEXTS)
NAMED: Mapping[str, NamedTask | Context] = {each.id: each for each in _EVERY}
"""All of them by their ids."""
