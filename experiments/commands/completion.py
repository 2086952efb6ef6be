"""``maestro-env completion``: print a script by which a shell completes commands and flags."""

from __future__ import annotations

import argparse
from dataclasses import MISSING, dataclass

from experiments.shell import cli
from experiments.shell.flags import PROGRAM, command_name, declare, option
from maestro_env.base.errors import MissingExtraError
from maestro_env.base.registry import look_up

SHELLS = ("bash", "zsh", "tcsh")


@dataclass(frozen=True)
class Config:
    """Print a script by which a shell completes the commands and flags of maestro-env.

    For bash: maestro-env completion bash > ~/.local/share/bash-completion/completions/maestro-env
    """

    shell: str = option(MISSING, f"one of {', '.join(SHELLS)}")


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


def execute(config: Config) -> int:
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
