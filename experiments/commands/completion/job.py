"""The completion script of a shell, which shtab writes."""

from __future__ import annotations

import argparse

from experiments.commands.completion.config import SHELLS, CompletionConfig
from experiments.shell import cli
from experiments.shell.flags import PROGRAM, command_name, declare
from maestro_env.base.errors import MissingExtraError
from maestro_env.base.registry import look_up

try:
    import shtab
except ModuleNotFoundError as error:
    raise MissingExtraError("completion", str(error.name), "completion") from error

# What the values of flags may be called, and how a shell completes these.
_FILES = {
    "DIRECTORY": shtab.DIRECTORY,
    "RUNDIR": shtab.DIRECTORY,
    "FILE": shtab.FILE,
    "PATH": shtab.FILE,
    "CERTIFICATE": shtab.FILE,
}


def execute(config: CompletionConfig) -> int:
    """Print the script and return the exit status."""
    look_up("shell", config.shell, dict.fromkeys(SHELLS))
    print(shtab.complete(_parser(), shell=config.shell))
    return 0


def _parser() -> argparse.ArgumentParser:
    """Return a parser of all commands and their flags, which only the script is made of."""
    parser = argparse.ArgumentParser(prog=PROGRAM)
    parser.add_argument("--version", action="version", help="print the version and stop")
    commands = parser.add_subparsers()
    for name in cli.COMMANDS:
        package = f"experiments.{name}"
        child = commands.add_parser(command_name(package), help=cli.summary(package))
        for action in declare(child, cli.config_class(package)):
            if action.metavar in _FILES:
                action.complete = _FILES[action.metavar]  # type: ignore[attr-defined]
    return parser
