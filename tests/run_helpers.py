"""What the tests of the commands share."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments.run.__main__ import main

FILES = {
    "best_cost.json",
    "best_mapping.json",
    "best_mapping.m",
    "best_mapping.txt",
    "config.json",
    "convergence.png",
    "convergence.svg",
    "summary.json",
    "trace.csv.gz",
    "versions.json",
}
SAMPLES = 600


def run(out: Path, *flags: str, samples: int = SAMPLES) -> int:
    return main([f"--out={out}", f"--samples={samples}", *flags])


def load(path: Path) -> Any:
    return json.loads(path.read_text())


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def trace_rows(out: Path) -> list[list[str]]:
    text = gzip.decompress((out / "trace.csv.gz").read_bytes()).decode()
    return [line.split(",") for line in text.splitlines()]


def interrupt_after_import(module: str, *command: str) -> tuple[int, list[str]]:
    """Send Ctrl-C to ``python -m command`` once it has imported a module.

    Returns:
        The exit status, and what it wrote to stderr.
    """
    command_line = [sys.executable, "-X", "importtime", "-m", *command]
    lines = []
    with subprocess.Popen(
        command_line,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if not line.startswith("import time:"):
                lines.append(line)
            elif line.split()[-1] == module:
                process.send_signal(signal.SIGINT)
    return process.returncode, lines
