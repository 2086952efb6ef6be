"""A command line from a dataclass: flags, ``--help``, one-line errors."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from maestro_env.base.checks import look_up, plain_integer, plain_number
from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.experiments.shell.printing import print_errors, print_lines

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")
Number = TypeVar("Number", int, float)

PROGRAM = "maestro-env"
"""The command of which all others are part."""

_REFUSED = 2
_formatter = partial(argparse.HelpFormatter, max_help_position=28)


class UsageError(MaestroEnvError, ValueError):
    """Flags that do not exist or do not go together."""


def option(
    default: Any,
    text: str,
    least: float = 0,
    most: float = 10**9,
    value: str | None = None,
    kind: type[int | float | str] = str,
    several: bool = False,
    bare: bool = False,
) -> Any:
    """Declare a field of a config, which is a flag.

    Args:
        default: its type is the flag's: a bool makes a switch, named ``--no-...`` if it is on;
            ``MISSING`` makes an argument that the command needs, without a flag.
        text: its description in ``--help``.
        least: smallest number allowed.
        most: largest number allowed; as the default it means "no limit".
        value: name of the flag's value in ``--help``; None for the field's name.
        kind: type of a flag whose default is None.
        several: whether the argument is a list of one value or more.
        bare: whether it is an argument although it has a default.
    """
    kind = kind if default in (None, dataclasses.MISSING) else type(default)
    metadata = {"text": text, "least": least, "most": most, "value": value, "kind": kind}
    metadata["several"], metadata["bare"] = several, bare or default is dataclasses.MISSING
    return dataclasses.field(default=default, metadata=metadata)


def threads_option(work: str = "the batch evaluation") -> Any:
    """Declare the number of threads for some work."""
    return option(1, f"threads for {work}", least=1, most=1024)


def jobs_option(what: str = "searches") -> Any:
    """Declare the number of processes."""
    return option(1, f"{what} at a time, one process each", least=1, most=1024)


def ray_option() -> Any:
    """Declare the cluster that searches."""
    text = "run the searches on this Ray cluster: auto, or HOST:PORT of its head"
    return option(None, text, value="address")


def out_option(default: str = "a new directory below runs/") -> Any:
    """Declare the directory of the results."""
    return option(None, f"where to write (default: {default})", value="directory")


def resume_option(extended: bool = False) -> Any:
    """Declare that a directory is resumed, and perhaps extended."""
    verb = "resume or extend" if extended else "resume"
    return option(False, f"{verb} the run in --out; several processes can share it")


def svg_option() -> Any:
    """Declare that pictures are drawn twice."""
    return option(False, "draw each picture as an SVG file too")


def run(
    config_class: type[Config],
    execute: Callable[[Config], int],
    name: str,
    argv: list[str] | None,
) -> int:
    """Parse flags, or those of the process, into a config, execute it and return the exit status.

    The config is a dataclass of ``option`` fields; its docstring describes the command.
    """
    try:
        config = _parse(config_class, name, argv)
        status = execute(config)
        for each in ("hardware", "file"):
            _say_notes(getattr(config, each, None))
        return status
    except MaestroEnvError as error:
        print_errors(f"error: {error}")
    except (MemoryError, RuntimeError) as error:
        # PyTorch has no error of its own.
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        print_errors(f"error: out of memory: {error}; ask for less, such as fewer samples")
    return _REFUSED


def _say_notes(text: object) -> None:
    """Say what is not read of the file of an accelerator, if a text names one."""
    if isinstance(text, str) and Path(text).suffix:
        from maestro_env.accelerators.finding import accelerator_notes

        for note in accelerator_notes(text):
            print_lines(note)


def to_flags(config: DataclassInstance) -> list[str]:
    """Return the arguments, and the flags without which the config would be another one."""
    flags: list[str] = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if _bare(field):
            flags += map(str, value) if field.metadata["several"] else [str(value)]
        elif dataclasses.replace(config, **{field.name: field.default}) != config:
            flags.append(_flag(field) if isinstance(value, bool) else f"{_flag(field)}={value}")
    return flags


@dataclasses.dataclass(frozen=True)
class Action:
    """What an action of a command does, and the names of the flags that it takes."""

    run: Callable[[Any], int]
    takes: tuple[str, ...]


def act(config: Any, actions: Mapping[str, Action]) -> int:
    """Do what a config's action says, and return the exit status; refuse flags of other actions."""
    action = look_up("action", config.action, actions)
    refuse_others(config.action, to_flags(config), action.takes)
    return action.run(config)


def refuse_others(what: str, given: Sequence[str], takes: Sequence[str]) -> None:
    """Refuse flags, as ``to_flags`` returns them, that something does not take."""
    for each in filter(lambda given: given.startswith("--"), given):
        flag = each.partition("=")[0].removeprefix("--no-").removeprefix("--")
        if flag not in takes:
            taken = ", ".join(f"--{name}" for name in takes)
            raise UsageError(f"--{flag}: {what} takes only {taken}")


def numbers(flag: str, text: str, least: Number, most: Number) -> tuple[Number, ...]:
    """Return the different numbers of a flag, separated by commas; of the type of the limits.

    Raises:
        UsageError: one of them is not allowed.
    """
    try:
        found = [_number(each.strip(), type(least), least, most) for each in text.split(",")]
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{flag}: {error}, separated by commas") from None
    return tuple(dict.fromkeys(found))


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


def require_distinct(flag: str, keys: Iterable[tuple[str, object]], what: str) -> None:
    """Refuse names whose keys are equal: what is called twice would count twice."""
    called: dict[object, str] = {}
    for name, key in keys:
        other = called.setdefault(key, name)
        if other != name:
            raise UsageError(f"{flag}: {other} and {name} are {what}: give one of them")


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without the blanks around them, each once and where it came first."""
    return tuple(dict.fromkeys(name.strip() for name in names))


class _FlagParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see --help)")


def _parse(config_class: type[Config], name: str, argv: list[str] | None) -> Config:
    parser = _FlagParser(prog=f"{PROGRAM} {name}", formatter_class=_formatter, allow_abbrev=False)
    declare(parser, config_class)
    values = vars(parser.parse_args(argv))
    return config_class(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def declare(
    parser: argparse.ArgumentParser, config_class: type[DataclassInstance]
) -> list[argparse.Action]:
    """Add the usage, description and flags of a config to a parser; return the flags."""
    arguments = [_argument(field) for field in dataclasses.fields(config_class) if _bare(field)]
    parser.usage = " ".join(["%(prog)s [options]", *arguments])
    parser.description = config_class.__doc__
    return [_add(parser, field) for field in dataclasses.fields(config_class)]


def _bare(field: dataclasses.Field[Any]) -> bool:
    if "bare" not in field.metadata:
        raise TypeError(f"{field.name} is a field of a config that is not declared by option()")
    return bool(field.metadata["bare"])


def _argument(field: dataclasses.Field[Any]) -> str:
    """Return an argument as the usage line has it."""
    name = field.name.upper()
    if field.default is not dataclasses.MISSING:
        return f"[{name}]"
    return f"{name}{'...' if field.metadata['several'] else ''}"


def _flag(field: dataclasses.Field[Any]) -> str:
    return f"--{'no-' if field.default is True else ''}{field.name.replace('_', '-')}"


def _add(parser: argparse.ArgumentParser, field: dataclasses.Field[Any]) -> argparse.Action:
    text, default, number = field.metadata["text"], field.default, field.metadata["kind"] is not str
    convert = partial(_value, field)
    metavar = "N" if number else _called(field).upper()
    if _bare(field):
        nargs = "+" if field.metadata["several"] else None
        if default is not dataclasses.MISSING:
            nargs, text = "?", f"{text} (default: {default})"
        return parser.add_argument(
            field.name, metavar=metavar, type=convert, help=text, nargs=nargs, default=default
        )
    if isinstance(default, bool):
        action = "store_false" if default else "store_true"
        return parser.add_argument(_flag(field), dest=field.name, action=action, help=text)
    standard = "no limit" if number and default == field.metadata["most"] else default
    shown = text if default is None else f"{text} (default: {standard})"
    return parser.add_argument(
        _flag(field), default=default, type=convert, metavar=metavar, help=shown
    )


def _called(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata["value"] or field.name)


def _value(field: dataclasses.Field[Any], text: str) -> str | float:
    kind, least, most = (field.metadata[name] for name in ("kind", "least", "most"))
    if kind is str:
        if not text.strip():
            raise argparse.ArgumentTypeError(f"{text!r} is empty; give {_called(field).upper()}")
        return text
    value: float = _number(text, kind, least, most)
    return value


def _number(text: str, kind: type[Number], least: float, most: float) -> Number:
    value = plain_integer(text) if kind is int else plain_number(text)
    if value is None or not least <= value <= most:
        what = "integers" if kind is int else "numbers"
        raise argparse.ArgumentTypeError(f"{quoted(text)}; allowed: {what} from {least} to {most}")
    return kind(value)
