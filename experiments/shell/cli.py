"""Starting and ending a command, so that Ctrl-C is answered in one line at any moment.

This module is light, so that Ctrl-C is answered while the command itself is imported.
"""

from __future__ import annotations

import ast
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

_EXPERIMENTS = Path(__file__).parents[1]
_ROOMS = ("commands", "papers")

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT."""

FAILED = 1
"""Exit status after a mapper raised an exception; the searches of the others are there."""

_BROKEN_PIPE = 141
_NO_OUTPUT = 74
_MESSAGE = "interrupted"


def command_names() -> list[str]:
    """Return the names of the commands: modules of ``commands`` and of ``papers``."""
    return sorted(_paths())


@cache
def _paths() -> dict[str, Path]:
    """Return the module of each command: a file or a folder."""
    found = [path for room in _ROOMS for path in (_EXPERIMENTS / room).glob("[!_]*")]
    return {path.stem.replace("_", "-"): path for path in found}


def start(name: str) -> NoReturn:
    """Run a command with the flags of the process, and end the process."""
    leave(main(name))


def leave(status: int) -> NoReturn:
    """End the process."""
    # All is said, so Ctrl-C has nothing left to interrupt.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)


def main(name: str, argv: list[str] | None = None) -> int:
    """Run a command with these flags, or those of the process; return its exit status."""

    def run() -> int:
        with importing():
            from maestro_env.experiments.shell import flags

            command = load(name)
        return flags.run(command.Config, command.execute, name, argv)

    return answering(run)


def load(name: str) -> Any:
    """Return the module of a command: ``Config``, its flags, and ``execute``, which takes them."""
    path = _paths()[name]
    module = f"maestro_env.experiments.{path.parent.name}.{path.stem}"
    # Not importlib's function, which python -X importtime does not see.
    return __import__(module, fromlist=["execute"])


def summary(name: str) -> str:
    """Return what a command does, in one line, without importing it."""
    path = _paths()[name]
    source = path / "__init__.py" if path.is_dir() else path
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].partition(": ")[2].rstrip(".")


def answering(run: Callable[[], int]) -> int:
    """Run what returns an exit status; say in one line if Ctrl-C or the output ended it."""
    if sys.stdout is None:
        return _no_output("it is closed")
    if isinstance(sys.stdout, TextIOWrapper):
        # Paths need not be text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = run()
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        with undisturbed():
            print(_MESSAGE, file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone.
        _discard_output()
        return _BROKEN_PIPE
    except OSError as error:
        # Errors of files name them.
        if error.filename is not None:
            raise
        _discard_output()
        return _no_output(str(error.strerror))


@contextmanager
def importing() -> Iterator[None]:
    """End the process at Ctrl-C: a KeyboardInterrupt may be lost in what C extensions import."""
    with _on_interrupt(_end):
        yield


@contextmanager
def deferred() -> Iterator[None]:
    """Answer Ctrl-C at the end of the block: in the middle, a callback might swallow it."""
    pressed: list[object] = []
    with _on_interrupt(lambda *_: pressed.append(None)):
        yield
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C for a moment."""
    with _on_interrupt(signal.SIG_IGN):
        yield


def _no_output(reason: str) -> int:
    print(f"error: cannot write to stdout: {reason}", file=sys.stderr)  # noqa: T201
    return _NO_OUTPUT


def _discard_output() -> None:
    """Keep what is left of the output from being flushed at the end, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _on_interrupt(handler: Any) -> Iterator[None]:
    # Whoever started this process to ignore Ctrl-C, as a background job, keeps that.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> NoReturn:
    os.write(2, f"{_MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
