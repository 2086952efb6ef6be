"""Settings of mappers: dataclass fields with allowed values, and texts that change them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from maestro_env.base.checks import plain_integer, plain_number
from maestro_env.base.errors import MaestroEnvError, UnknownNameError


class SettingError(MaestroEnvError, ValueError):
    """A setting of a mapper that is not allowed."""


def setting(
    default: Any, text: str, least: float = 0, most: float = 10**9, allowed: Iterable[str] = ()
) -> Any:
    """Declare a field of a mapper's config.

    Args:
        default: its type is the field's: an int, a float or a text.
        text: what it means.
        least: smallest number allowed.
        most: largest number allowed.
        allowed: texts allowed; none for any.
    """
    metadata = {"text": text, "least": least, "most": most, "allowed": tuple(allowed)}
    return dataclasses.field(default=default, metadata=metadata)


def is_config(config: object) -> bool:
    """Say whether this is a dataclass whose fields are settings."""
    if isinstance(config, type) or not dataclasses.is_dataclass(config):
        return False
    return all("allowed" in field.metadata for field in dataclasses.fields(config))


def check(config: Any) -> None:
    """Check every field of a config, a dataclass.

    Raises:
        SettingError: a value that the field's declaration does not allow.
        UnknownNameError: a text that is not an allowed one.
    """
    for field in dataclasses.fields(config):
        name, kind, value = field.name, type(field.default), getattr(config, field.name)
        least, most, allowed = (field.metadata[key] for key in ("least", "most", "allowed"))
        if kind is str:
            if allowed and value not in allowed:
                raise UnknownNameError(name, value, allowed)
            continue
        fits = isinstance(value, (int, kind)) and not isinstance(value, bool)
        if not fits or not least <= value <= most:
            what = "integers" if kind is int else "numbers"
            raise SettingError(f"{name} is {value!r}; allowed: {what} from {least} to {most}")


def changed(config: Any, changes: Iterable[str]) -> Any:
    """Return a config with some fields changed by texts such as ``population=50``.

    Raises:
        SettingError, UnknownNameError: no such field, or a value it does not allow.
    """
    parsers = {int: plain_integer, float: plain_number}
    kinds = {field.name: type(field.default) for field in dataclasses.fields(config)}
    values: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if name not in kinds:
            raise UnknownNameError("setting", name, kinds)
        if not equals or name in values:
            raise SettingError(f"setting '{change}': allowed: {name}=VALUE, once")
        parsed = parsers[kinds[name]](text) if kinds[name] in parsers else None
        # ``check`` refuses a text that is no number.
        values[name] = text if parsed is None else parsed
    made = dataclasses.replace(config, **values)
    check(made)
    return made
