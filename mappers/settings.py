"""Settings of mappers: dataclass fields with allowed values, and texts that change them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from maestro_env.checks import plain_integer, plain_number
from maestro_env.errors import MaestroEnvError, UnknownNameError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


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


def check(config: DataclassInstance) -> None:
    """Check every field of a config.

    Raises:
        SettingError: a value that the field's declaration does not allow.
        UnknownNameError: a text that is not an allowed one.
    """
    for field in dataclasses.fields(config):
        _check(field, getattr(config, field.name))


def changed(config: DataclassInstance, changes: Iterable[str]) -> DataclassInstance:
    """Return a config with some fields changed.

    Args:
        config: the config to change.
        changes: texts such as ``population=50``.

    Raises:
        SettingError, UnknownNameError: no such field, or a value it does not allow.
    """
    fields = {field.name: field for field in dataclasses.fields(config)}
    values: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if name not in fields:
            raise UnknownNameError("setting", name, fields)
        if not equals or name in values:
            raise SettingError(f"setting '{change}': allowed: {name}=VALUE, once")
        values[name] = _parse(fields[name], text)
    made = dataclasses.replace(config, **values)
    check(made)
    return made


def _parse(field: dataclasses.Field[Any], text: str) -> object:
    """Return the value of a text; the text itself if it is not of the field's type."""
    if isinstance(field.default, str):
        return text
    number = plain_integer(text) if isinstance(field.default, int) else plain_number(text)
    return text if number is None else number


def _check(field: dataclasses.Field[Any], value: object) -> None:
    if isinstance(field.default, str):
        allowed = field.metadata["allowed"]
        if allowed and value not in allowed:
            raise UnknownNameError(field.name, value, allowed)
        return
    least, most = field.metadata["least"], field.metadata["most"]
    integral = isinstance(field.default, int)
    kinds = int if integral else int | float
    fits = isinstance(value, kinds) and not isinstance(value, bool)
    if not fits or not least <= value <= most:
        what = "integers" if integral else "numbers"
        raise SettingError(f"{field.name} is {value!r}; allowed: {what} from {least} to {most}")
