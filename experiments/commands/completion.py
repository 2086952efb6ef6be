"""``maestro-env completion``: print a shell script that completes commands and flags."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import Any

from maestro_env.base.checks import look_up
from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import PROGRAM, declare, option
from maestro_env.experiments.shell.printing import print_lines

SHELLS = ("bash", "zsh", "tcsh")


@dataclass(frozen=True)
class Config:
    """Print a shell script that completes the commands and flags of maestro-env.

    For bash: maestro-env completion bash > ~/.local/share/bash-completion/completions/maestro-env
    """

    shell: str = option(MISSING, f"one of {', '.join(SHELLS)}")


# Which values of flags are files or directories, by what they are called.
_FILES = {
    "DIRECTORY": "DIRECTORY",
    "RUNDIR": "DIRECTORY",
    "FILE": "FILE",
    "PATH": "FILE",
    "CERTIFICATE": "FILE",
}


def execute(config: Config) -> int:
    """Print the script and return the exit status."""
    look_up("shell", config.shell, dict.fromkeys(SHELLS))
    try:
        import shtab
    except ModuleNotFoundError as error:
        raise MissingExtraError("completion", str(error.name), "completion") from error
    kinds = {called: getattr(shtab, kind) for called, kind in _FILES.items()}
    print_lines(*shtab.complete(_parser(kinds), shell=config.shell).split("\n"))
    return 0


def _parser(kinds: Mapping[str, Any]) -> argparse.ArgumentParser:
    """Return a parser of all commands and their flags, which only the script is made of."""
    parser = argparse.ArgumentParser(prog=PROGRAM)
    parser.add_argument("--version", action="version", help="print the version and stop")
    commands = parser.add_subparsers()
    for name in cli.command_names():
        child = commands.add_parser(name, help=cli.summary(name))
        for action in declare(child, cli.load(name).Config):
            if kind := kinds.get(str(action.metavar)):
                action.complete = kind  # type: ignore[attr-defined]
    return parser
