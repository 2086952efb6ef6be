"""Threaded batches under ThreadSanitizer: ``python tests/threads.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cpp import Build, program

FLAGS = ("-std=c++20", "-O1", "-g", "-ffp-contract=off", "-fsanitize=thread")


def built() -> Build:
    return program("threads", flags=FLAGS)


def run(binary: Path) -> subprocess.CompletedProcess[str]:
    """Run the driver; its status is other than 0 after a race or a wrong result."""
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    return subprocess.run([str(binary)], env=environment, capture_output=True, text=True)


def main() -> None:
    ended = run(built().path())
    if ended.returncode:
        sys.exit(f"{ended.stderr}ended with status {ended.returncode}")
    sys.stdout.write("threaded batches of both models: no race, and the rows of one thread\n")


if __name__ == "__main__":
    main()
