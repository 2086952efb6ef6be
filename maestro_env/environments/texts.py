"""Layers, hardware and objectives as texts, which the functions that find them read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any

from gymnasium.envs.registration import EnvSpec

from maestro_env.accelerators.finding import BUILT, find_hierarchy, known_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.accelerators.technology import Technology, written
from maestro_env.evaluation.objectives import OBJECTIVES, OTHERS, Objective
from maestro_env.workloads.finding import layers_by_name
from maestro_env.workloads.layer import Layer

_NAMED = {**OBJECTIVES, **OTHERS}


def text_of(thing: Layer | Hardware | Hierarchy | Objective) -> str:
    """Return the text that the function which finds such a thing reads back.

    Of an objective that has no name the text keeps the factors, and so the values, but
    neither name nor unit nor bound.
    """
    if isinstance(thing, Layer):
        return thing.name if layers_by_name().get(thing.name) == thing else _layer(thing)
    if isinstance(thing, Hardware):
        return thing.name if known_hardware().get(thing.name) == thing else _hardware(thing)
    if isinstance(thing, Hierarchy):
        named = BUILT.joinpath(f"{thing.name}.yaml").is_file()
        return (
            thing.name if named and find_hierarchy(thing.name) == thing else hierarchy_text(thing)
        )
    return thing.name if _NAMED.get(thing.name) == thing else "*".join(thing.factors)


def in_texts(value: Any) -> Any:
    """Return a value, in which every layer, hardware, objective and enumerated name is a text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Layer | Hardware | Hierarchy | Objective):
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


def _hardware(hardware: Hardware) -> str:
    given = {field.name: getattr(hardware, field.name) for field in fields(Hardware)}
    default = {field.name: field.default for field in fields(Hardware)}
    name = given.pop("name")
    changed = {key: value for key, value in given.items() if value != default[key]}
    if "technology" in changed:
        changed["technology"] = text_of_technology(hardware.technology)
    written = _pairs(changed)
    return written if name == written else f"{written},name={name}"


def text_of_technology(technology: Technology) -> str:
    """Return the name of a technology, or its fields; ``find_technology`` reads both."""
    name = technology.name
    return name if TECHNOLOGIES.get(name) == technology else written(technology)


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
