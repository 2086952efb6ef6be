"""``maestro-env COMMAND``: every command of ``experiments/commands`` under its name."""

from __future__ import annotations

import sys

from maestro_env.experiments.shell import cli


def main() -> None:
    """Run the command that the process's arguments name, and end the process."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in cli.command_names():
        cli.leave(cli.main(arguments[0], arguments[1:]))
    cli.leave(cli.answering(lambda: _describe(arguments)))


def _describe(arguments: list[str]) -> int:
    """Answer ``--help`` and ``--version``, or say which commands there are."""
    from maestro_env import __version__
    from maestro_env.base.errors import UnknownNameError
    from maestro_env.experiments.shell.printing import print_errors, print_lines

    names = cli.command_names()
    if arguments in ([], ["--help"], ["-h"]):
        width = max(map(len, names))
        print_lines("usage: maestro-env COMMAND [options]", "")
        print_lines("Map the layers of neural networks to accelerators.", "", "commands:")
        for name in names:
            print_lines(f"  {name:{width}}  {cli.summary(name)}")
        last = "maestro-env COMMAND --help lists the flags of a command, --version the version."
        print_lines("", last)
        return 0
    if arguments == ["--version"]:
        print_lines(f"maestro-env {__version__}")
        return 0
    error = UnknownNameError("command", arguments[0], [*names, "--help", "--version"])
    alone = arguments[0] in ("--help", "-h", "--version")
    message = f"{arguments[0]} takes no command; use COMMAND --help" if alone else error
    print_errors(f"error: {message}")
    return 2


if __name__ == "__main__":
    main()
