"""A task: what an episode is about, what environments derive of it, and its parts as texts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.checks import require_integer
from maestro_env.base.errors import EnvError, quoted
from maestro_env.base.pickling import Recomputed
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import OBJECTIVES, OTHERS, Objective, find_objective
from maestro_env.evaluation.observations_and_rewards import Observations, context, first_observation
from maestro_env.mapspace.space import Points, Space
from maestro_env.models import ANY_MEMORIES, make_problems, room_of, two_buffer_form
from maestro_env.optimum.known import known_values
from maestro_env.workloads.finding import find_layer, layers_by_name
from maestro_env.workloads.layer import Layer

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

_NAMED = {**OBJECTIVES, **OTHERS}

DEFAULT_LAYER = "mobilenetv2_l2"

RESET_OPTIONS = ("layer", "hardware")
"""What a reset may be told: which of several layers and accelerators the episode has."""

Accelerators = str | Accelerator | Sequence[str | Accelerator]
"""An accelerator, or one for each of several layers."""


@dataclass(frozen=True, eq=False)
class Task(Recomputed):
    """A problem and the objective to minimise.

    Raises:
        EnvError: the model does not compute a figure of the objective.
    """

    problem: AnyProblem
    objective: Objective

    def __post_init__(self) -> None:
        given = self.problem.figures
        missing = [name for name in self.objective.factors if name not in given]
        if missing:
            raise EnvError(
                f"objective {self.objective.name} needs {missing[0]}, which model "
                f"{self.problem.model} does not compute; choose another objective or model"
            )

    @property
    def space(self) -> Space:
        return self.problem.space

    @cached_property
    def reference(self) -> float:
        """The objective that earns 1: that of a typical random mapping, else the lower bound."""
        return self.problem.typical(self.objective) or self.lower_bound

    @cached_property
    def lower_bound(self) -> float:
        """The product of the lower bounds of the objective's figures, of those that have one."""
        bounds = self.problem.lower_bounds
        return math.prod(bounds[name] for name in self.objective.factors if name in bounds)

    @cached_property
    def first(self) -> Observations:
        """What is seen of the cost before any mapping, float32[4]: lower bounds."""
        return first_observation(self.problem.lower_bounds)

    @cached_property
    def context(self) -> NDArray[np.float32]:
        """Layer, hardware and objective, float32[C], by the names of ``CONTEXT``."""
        return context(self.problem.layer, self.problem.hardware, self.objective)

    @cached_property
    def optimum(self) -> tuple[float, float]:
        """Value and bound of the known optimum; NaN where nothing is known."""
        return known_values(self.problem, self.objective)

    @property
    def no_vector(self) -> Points:
        """Stands for a vector where there is none: zeros, int32[D]."""
        return np.zeros(len(self.space.sizes), dtype=np.int32)

    @cached_property
    def masks(self) -> Masks:
        """Which choices can still become a valid mapping."""
        return Masks(self.problem)

    def warn(self) -> None:
        """Warn where the model miscounts the layer."""
        if warning := self.problem.stride_warning():
            warnings.warn(warning, stacklevel=4)


def episode_end(steps: int, length: int) -> tuple[bool, bool]:
    """Return whether an episode is terminated and whether it is truncated after ``steps``.

    Learners bootstrap the value after a truncation, so an episode of one step must terminate.
    """
    ends = steps >= length
    return ends and length == 1, ends and length > 1


def require_episode_length(length: object, action: str) -> int:
    """Return the mappings of an episode; None stands for the usual number of a kind of action."""
    if length is None:
        return 1 if action == "discrete_steps" else 100
    return require_integer("episode_length", length, EnvError)


def make_tasks(
    layer: str | Layer | None,
    layers: Sequence[str | Layer] | None,
    objective: str | Objective,
    hardware: Accelerators,
    model: str,
    schema: str,
    tiles: str,
    guard: bool,
) -> list[Task]:
    """Return a task for each layer that ``layer`` or ``layers`` name; no two differ in parameters.

    Each layer has the one accelerator, or one of its own from a list.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed.
    """
    objective = find_objective(objective)
    found = [find_layer(each) for each in _given(layer, layers)]
    how = (model, schema, tiles, guard)
    if isinstance(hardware, str | Accelerator):
        problems = make_problems(found, hardware, *how)
    else:
        pairs = zip(found, _one_each(hardware, found), strict=True)
        problems = [make_problems([layer], each, *how)[0] for layer, each in pairs]
    one = hardware if isinstance(hardware, str | Accelerator) else hardware[0]
    if form := two_buffer_form(one, problems[0].hardware):
        warnings.warn(f"{form}; model {ANY_MEMORIES} has all its memories", stacklevel=4)
    for problem in problems:
        _require_alike(problems[0].space, problem.space)
    return [Task(problem, objective) for problem in problems]


def _one_each(
    hardware: Sequence[str | Accelerator], layers: Sequence[Layer]
) -> Sequence[str | Accelerator]:
    if not isinstance(hardware, Sequence) or len(hardware) != len(layers):
        raise EnvError(
            f"hardware is {quoted(hardware)}; allowed: an accelerator, or a list of one for each "
            f"of the {len(layers)} layers"
        )
    return hardware


def chosen_tasks(tasks: Sequence[Task], options: Mapping[str, Any] | None) -> list[int]:
    """Return the indices of the tasks that options of a reset allow.

    Args:
        tasks: of the environment.
        options: ``layer`` as ``find_layer`` takes it, ``hardware`` as an environment takes it.

    Raises:
        EnvError: another option, or no task with these.
        MaestroEnvError: no such layer or accelerator.
    """
    options = options or {}
    for name in options:
        if name not in RESET_OPTIONS:
            raise EnvError(
                f"reset has no option {quoted(name)}; allowed: {', '.join(RESET_OPTIONS)}"
            )
    found = list(range(len(tasks)))
    if "layer" in options:
        layer = find_layer(options["layer"])
        found = [each for each in found if tasks[each].problem.layer.shape == layer.shape]
    if "hardware" in options:
        found = [each for each in found if _is_on(tasks[each].problem, options["hardware"])]
    if not found:
        raise EnvError(f"reset has options {quoted(dict(options))}; allowed: {_listed(tasks)}")
    return found


def drawn_task(indices: Sequence[int], generator: np.random.Generator) -> int:
    """Return one of some indices, drawn if there are several."""
    return indices[int(generator.integers(len(indices)))] if len(indices) > 1 else indices[0]


def _is_on(problem: AnyProblem, hardware: str | Accelerator) -> bool:
    return bool(room_of(problem.model).find(hardware) == problem.hardware)


def _listed(tasks: Sequence[Task]) -> str:
    problems = [task.problem for task in tasks]
    layers = dict.fromkeys(each.layer.name or str(each.layer) for each in problems)
    names = dict.fromkeys(each.hardware.name or "its hardware" for each in problems)
    return f"layers {', '.join(layers)} on {', '.join(names)}"


def _given(
    layer: str | Layer | None, layers: Sequence[str | Layer] | None
) -> Sequence[str | Layer]:
    if layers is None:
        return [DEFAULT_LAYER if layer is None else layer]
    if layer is not None:
        raise EnvError("layer and layers are given; allowed: one of them")
    if isinstance(layers, str) or not isinstance(layers, Sequence) or not layers:
        raise EnvError(f"layers is {quoted(layers)}; allowed: a list of at least one layer")
    return layers


def _require_alike(one: Space, other: Space) -> None:
    names = [[parameter.name for parameter in space.parameters] for space in (one, other)]
    if names[0] != names[1]:
        alone = sorted(set(names[0]) ^ set(names[1]))[0]
        raise EnvError(
            f"layers {one.layer} and {other.layer} have different parameters, such as {alone}; "
            "allowed: layers of one operator"
        )


def text_of(thing: Layer | Accelerator | Objective) -> str:
    """Return the text that the function which finds such a thing reads back.

    Of an objective that has no name the text keeps the factors, and so the values, but
    neither name nor unit nor bound.
    """
    if isinstance(thing, Layer):
        return thing.name if layers_by_name().get(thing.name) == thing else _layer_text(thing)
    if isinstance(thing, Accelerator):
        return room_of(thing.MODEL).text(thing)
    return thing.name if _NAMED.get(thing.name) == thing else "*".join(thing.factors)


def in_texts(value: Any) -> Any:
    """Return a value, in which every layer, hardware, objective and enumerated name is a text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Layer | Accelerator | Objective):
        return text_of(value)
    if isinstance(value, Mapping):
        return {key: in_texts(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [in_texts(each) for each in value]
    return value


def _layer_text(layer: Layer) -> str:
    numbers: dict[str, int | str] = {**layer.extents}
    if layer.is_strided:
        numbers["stride"] = "{}x{}".format(*layer.stride)
    if layer.count != 1:
        numbers["count"] = layer.count
    pairs = ",".join(f"{name}={value}" for name, value in numbers.items())
    written = f"{layer.operator.lower()}:{pairs}"
    return written if layer.name == written else f"{written},name={layer.name}"


class TextSpec:
    """An environment whose specification names layers, hardware and objectives as texts."""

    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """What ``gymnasium.make`` makes this environment of."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec.kwargs = in_texts(spec.kwargs)
        self._spec = spec
