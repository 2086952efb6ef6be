"""What the tests of the commands share."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

from commands import run as main

from maestro_env.experiments.shell.files import write_record

LAYER = "gemm:M=64,N=64,K=64"
FILES = {
    "best_cost.json",
    "best_mapping.json",
    "best_mapping.m",
    "best_mapping.txt",
    "cells",
    "config.json",
    "convergence.png",
    "summary.json",
    "trace.csv.gz",
}
SAMPLES = 120
PATIENCE = 300
"""Seconds after which a process is taken to hang."""


def run(out: Path, *flags: str, samples: int = SAMPLES) -> int:
    """Search with two mappers unless flags say otherwise."""
    return main([f"--out={out}", f"--samples={samples}", "--mapper=random,ga", *flags])


def load(path: Path) -> Any:
    return json.loads(path.read_text())


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def edit(path: Path, change: Callable[[dict[str, Any]], object], sealed: bool) -> None:
    """Change a record; with ``sealed`` as if it had been written so."""
    entry = load(path)
    change(entry)
    if sealed:
        entry.pop("digest")
        write_record(path, entry)
    else:
        path.write_text(json.dumps(entry))


def trace_rows(out: Path) -> list[list[str]]:
    text = gzip.decompress((out / "trace.csv.gz").read_bytes()).decode()
    return [line.split(",") for line in text.splitlines()]


def start(*arguments: str, python: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start ``maestro-env`` in a session of its own; its stderr is to be read.

    Args:
        python: options of the interpreter.
    """
    return subprocess.Popen(
        [sys.executable, *python, "-m", "maestro_env.experiments", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A job in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a process to end well."""
    _, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, complaints


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def interrupt_after_import(module: str, *arguments: str) -> tuple[int, list[str]]:
    """Send Ctrl-C to ``maestro-env`` once it has imported a module.

    Returns:
        The exit status, and what it wrote to stderr.
    """
    lines = []
    with start(*arguments, python=("-X", "importtime")) as process:
        deadline = Timer(PATIENCE, process.kill)
        deadline.start()
        assert process.stderr is not None
        for line in process.stderr:
            if not line.startswith("import time:"):
                lines.append(line)
            elif line.split()[-1] == module:
                process.send_signal(signal.SIGINT)
        deadline.cancel()
    return process.returncode, lines
