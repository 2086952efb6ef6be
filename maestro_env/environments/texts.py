"""Layers, hardware and objectives as texts, which the functions that find them read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from gymnasium.envs.registration import EnvSpec

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.evaluation.objectives import OBJECTIVES, OTHERS, Objective
from maestro_env.models import room_of
from maestro_env.workloads.finding import layers_by_name
from maestro_env.workloads.layer import Layer

_NAMED = {**OBJECTIVES, **OTHERS}


def text_of(thing: Layer | Accelerator | Objective) -> str:
    """Return the text that the function which finds such a thing reads back.

    Of an objective that has no name the text keeps the factors, and so the values, but
    neither name nor unit nor bound.
    """
    if isinstance(thing, Layer):
        return thing.name if layers_by_name().get(thing.name) == thing else _layer(thing)
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


def _layer(layer: Layer) -> str:
    numbers: dict[str, int | str] = {**layer.extents}
    if layer.is_strided:
        numbers["stride"] = "{}x{}".format(*layer.stride)
    if layer.count != 1:
        numbers["count"] = layer.count
    written = f"{layer.operator.lower()}:{_pairs(numbers)}"
    return written if layer.name == written else f"{written},name={layer.name}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in values.items())


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
