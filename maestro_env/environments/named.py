"""The environments' ids in Gymnasium's registry, and the tasks that have names there.

Importing gymnasium here would slow the start of ``maestro-compat`` several times. So the ids are
registered when something else imports it, whichever of the two packages is imported first.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import NamedTuple

from maestro_env.accelerators.accelerator import HELD_HARDWARE

NAMESPACE = "maestro_env"


class NamedTask(NamedTuple):
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


class Context(NamedTuple):
    """Many layers, of which each episode has one: convolutions, for EDP.

    Args:
        name: ``train``, or what of an episode a policy trained there has not seen.
        hardware: as ``find_hardware`` takes it; None for random layers with an accelerator each
            (``wide_pairs``), else layers are of the zoo.
        held: whether the layers are those of ``HELD_NETWORK``, or all others.
        fifth: of the others, whether it has every fifth one, or those between; None for both.
        task: ``transfer``, where mappings are improved, or ``construct``.
    """

    name: str
    hardware: str | None
    held: bool = False
    fifth: bool | None = None
    task: str = "transfer"

    @property
    def id(self) -> str:
        """What ``gymnasium.make`` takes."""
        return f"{NAMESPACE}/{self.task}-{self.name}-v1"


HELD_NETWORK = "mobilenetv2"
CONTEXTS = (
    Context("train", "edge", fifth=False),
    Context("train-wide", None),
    Context("layer", "edge", fifth=True),
    Context("network", "edge", held=True),
    Context("accelerator", HELD_HARDWARE, fifth=False),
    Context("both", HELD_HARDWARE, held=True),
)

CONSTRUCTED = tuple(each._replace(task="construct") for each in CONTEXTS)
"""The same layers and accelerators, where a policy constructs mappings."""

_EVERY: tuple[NamedTask | Context, ...] = (*TASKS, *CHIP_TASKS, *CONTEXTS, *CONSTRUCTED)
NAMED: Mapping[str, NamedTask | Context] = {each.id: each for each in _EVERY}
"""All of them by their ids."""


def register_with_gymnasium() -> None:
    """Register now if gymnasium is imported, else as soon as it is."""
    if "gymnasium" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _GymnasiumWatcher())


def _register() -> None:
    import gymnasium

    making = "maestro_env.environments.making"
    for name, single, copies in (
        ("MaestroEnv-v0", "make_env_v0", "make_vector_env"),
        ("MaestroEnv-v1", "make_env", "make_vector_env"),
        ("MaestroImprove-v1", "make_improve_env", "make_improve_vector_env"),
        ("MaestroConstruct-v1", "make_construct_env", "make_construct_vector_env"),
    ):
        gymnasium.register(
            id=name, entry_point=f"{making}:{single}", vector_entry_point=f"{making}:{copies}"
        )
    for named in NAMED:
        gymnasium.register(
            id=named,
            entry_point=f"{making}:make_named_env",
            vector_entry_point=f"{making}:make_named_vector_env",
            kwargs={"named": named},
        )


class _GymnasiumWatcher:
    """Finds one module. It has no base class, because importing that would be slow too."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            _register()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
