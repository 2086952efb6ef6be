"""Starting and ending a command, so that Ctrl-C is answered in one line at any moment.

A command imports this module, which is light, and everything else inside ``run``.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT."""

FAILED = 1
"""Exit status after a mapper raised an exception; the searches of the others are there."""

_BROKEN_PIPE = 141
_MESSAGE = "interrupted"


def run(
    load: Callable[[], tuple[type[DataclassInstance], Callable[[Any], int]]],
    module: str,
    argv: list[str] | None,
) -> int:
    """Run a command and return its exit status.

    Args:
        load: imports the command; returns the dataclass of its flags and what executes one.
        module: what ``python -m`` starts.
        argv: the flags; None for those of the process.
    """
    try:
        with _on_interrupt(_leave):
            from experiments import flags

            config_class, execute = load()
        status = flags.run(config_class, execute, module, argv)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        with undisturbed():
            print(_MESSAGE, file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; what is left of it must not be flushed into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE


def end(status: int) -> NoReturn:
    """End the process; all is said, so Ctrl-C has nothing left to interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)


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
