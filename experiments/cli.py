"""Starting and ending a command, so that Ctrl-C is answered in one line at any moment.

A command imports this module, which is light, and everything else once it runs.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, NoReturn

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT."""

FAILED = 1
"""Exit status after a mapper raised an exception; the searches of the others are there."""

_BROKEN_PIPE = 141
_NO_OUTPUT = 74
_MESSAGE = "interrupted"


def start(package: str) -> NoReturn:
    """Run a command with the flags of the process, and end the process."""
    status = main(package)
    # All is said, so Ctrl-C has nothing left to interrupt.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)


def main(package: str, argv: list[str] | None = None) -> int:
    """Run a command with these flags, or those of the process; return its exit status.

    ``execute`` in the package's ``job`` takes the dataclass of the flags.
    """
    try:
        with _on_interrupt(_leave):
            from typing import get_type_hints

            from experiments import flags

            execute = __import__(f"{package}.job", fromlist=["execute"]).execute
            config_class = get_type_hints(execute)["config"]
        if sys.stdout is None:
            return _no_output("it is closed")
        if isinstance(sys.stdout, TextIOWrapper):
            # Paths need not be text.
            sys.stdout.reconfigure(errors="backslashreplace")
        status = flags.run(config_class, execute, package, argv)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        with undisturbed():
            print(_MESSAGE, file=sys.stderr)
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
    print(f"error: cannot write to stdout: {reason}", file=sys.stderr)
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


def _leave(*_: object) -> NoReturn:
    # A KeyboardInterrupt would not do: C extensions print it, or turn it into an ImportError.
    os.write(2, f"{_MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
