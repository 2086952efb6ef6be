"""Writes the script of a Slurm array whose tasks work on one directory."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

from maestro_env.experiments.commands.sweep.flags import Config
from maestro_env.experiments.shell import flags
from maestro_env.experiments.shell.files import write_text
from maestro_env.experiments.shell.flags import UsageError

_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=maestro-env-sweep
#SBATCH --array=1-{tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={jobs}
#SBATCH --requeue
#SBATCH --output={log}
# Tasks claim chunks of cells in a directory that all nodes see. Submitted again, it does the rest.
cd {place} || exit
exec {command}
"""


def write_script(config: Config, directory: Path) -> Path:
    """Write the script into a directory of the sweep and return its path.

    Raises:
        UsageError: a directory whose name no comment of a script can hold.
    """
    path = directory.resolve() / "sweep.sbatch"
    if not str(path).isprintable():
        raise UsageError(f"--slurm: {directory} is not printable; give another --out")
    asked = replace(config, slurm=None, out=str(path.parent), resume=True)
    script = _SCRIPT.format(
        tasks=config.slurm,
        jobs=config.jobs,
        log=shlex.quote(f"{path.parent}/slurm-%a.txt"),
        place=shlex.quote(str(Path.cwd())),
        command=shlex.join([*_program(), *flags.to_flags(asked)]),
    )
    write_text(path, script)
    return path


def _program() -> list[str]:
    """Return how this process's user starts the command, wherever the path leads elsewhere."""
    started = Path(sys.argv[0])
    if started.name == flags.PROGRAM:
        return [str(started.absolute()), "sweep"]
    return [sys.executable, "-m", "experiments", "sweep"]
