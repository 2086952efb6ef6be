"""The sweep: read its file, search the chunks that are not there yet, write what they found."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments import cli, flags
from experiments.cell_pool import run_cells
from experiments.files import run_directory, safe_name
from experiments.machine import processor, versions
from experiments.sweep.config import SweepConfig
from experiments.sweep.description import read_sweep
from experiments.sweep.report import report
from experiments.sweep_chunks import open_sweep


def execute(config: SweepConfig) -> int:
    """Do what a config asks and return the exit status."""
    sweep, note = read_sweep(config.config)
    if note:
        print(f"note: {note}", file=sys.stderr)
    # Asking git takes a moment, in which an interrupt should leave nothing behind.
    here = {**versions(), "processor": processor()}
    directory = run_directory(config.out, safe_name(Path(config.config).stem), config.resume)
    chunks = open_sweep(sweep, directory, here)
    left = [chunk for chunk in chunks if not chunk.path.exists()]
    status = run_cells(left, len(chunks) - len(left), config.jobs)
    try:
        if status != cli.INTERRUPTED:
            report(chunks, directory)
    except KeyboardInterrupt:
        status = cli.INTERRUPTED
    if status == cli.INTERRUPTED:
        with cli.undisturbed():
            flags.tell_interrupted("finished", config, "experiments.sweep", directory)
    return status
