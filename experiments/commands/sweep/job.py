"""The sweep: its flags, its plan or Slurm script, its searches, and what they found."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path

from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import quoted
from maestro_env.experiments.commands.sweep.description import read_sweep
from maestro_env.experiments.shell.files import safe_name, write_csv, write_text
from maestro_env.experiments.shell.flags import (
    PROGRAM,
    UsageError,
    jobs_option,
    option,
    out_option,
    ray_option,
    resume_option,
    to_flags,
)
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.tables import Sheet, significant
from maestro_env.experiments.store.claims import Claim
from maestro_env.experiments.store.running import Running
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.experiments.study.sweep.checks import check, measure
from maestro_env.experiments.study.sweep.chunks import Chunk, chunk_sizes, open_sweep, shard_sizes
from maestro_env.experiments.study.sweep.results import (
    SUMMARY,
    TABLE,
    collect,
    summarize,
    summary_sheet,
)


@dataclass(frozen=True)
class Config:
    """Search every cell that a file describes; write one table, and totals of the networks.

    Processes of several machines can work on one directory.
    """

    config: str = option(MISSING, "YAML file of the axes (docs/howto.md)")
    dry_run: bool = option(False, "print the cells and an estimate of core-hours; write nothing")
    jobs: int = jobs_option()
    ray: str | None = ray_option()
    shard: str | None = option(
        None, "search only a part, such as 2/4 for the second of four", value="i/n"
    )
    slurm: int | None = option(
        None, "write a Slurm script of this many tasks; search nothing", 1, 100_000, kind=int
    )
    out: str | None = out_option()
    resume: bool = resume_option()


def print_plan(sweep: Sweep, sizes: Mapping[str, int], seconds: Mapping[str, float]) -> None:
    """Print the cells and chunks of a sweep, and the core-hours they take."""
    cells = sweep.cells_of_mapper
    rows = [
        (
            mapper,
            f"{cells:,}",
            f"{math.ceil(cells / sizes[mapper]):,}",
            significant(seconds[mapper], 3),
            significant(cells * seconds[mapper] / 3600, 3),
        )
        for mapper in sweep.mappers
    ]
    total = cells * sum(seconds.values()) / 3600
    _, layers, hardware, objectives, seeds = sweep.shape
    title = (
        f"{sweep.cells:,} cells: {layers} layers x {hardware} accelerators x {objectives} "
        f"objectives x {len(sweep.mappers)} mappers x {seeds} seeds"
    )
    note = (
        f"{significant(total, 3)} core-hours, from a few short searches on this machine. "
        "A mapper without an estimate failed in them."
    )
    columns = ("cells", "chunks", "CPU seconds\nper cell", "core-hours")
    Sheet(title, ("mapper",), columns, rows, note).print()


def report(chunks: Sequence[Chunk], directory: Path) -> None:
    """Write the table of cells and the summary, and print the summary."""
    results = collect(chunks, directory / TABLE)
    rows = list(summarize(results))
    write_csv(directory / "summary.csv", SUMMARY, rows)
    sheet = summary_sheet(results, rows)
    write_text(directory / "summary.md", sheet.markdown())
    sheet.print()
    print_lines("", f"cells: {directory / 'results.csv'}", f"summary: {directory / 'summary.csv'}")


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
        command=shlex.join([*_program(), *to_flags(asked)]),
    )
    write_text(path, script)
    return path


def _program() -> list[str]:
    """Return how this process's user starts the command, wherever the path leads elsewhere."""
    started = Path(sys.argv[0])
    if started.name == PROGRAM:
        return [str(started.absolute()), "sweep"]
    return [sys.executable, "-m", "experiments", "sweep"]


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    if config.slurm and config.shard:
        raise UsageError("--slurm and --shard: give one of them; tasks of Slurm share the chunks")
    part, shards = _shard(config.shard)
    sweep, note = read_sweep(config.config)
    if note:
        print_errors(f"note: {note}")
    if config.dry_run or not config.resume:
        # Before there is a directory.
        check(sweep)
    if config.dry_run:
        seconds = measure(sweep)
        print_plan(sweep, chunk_sizes(sweep, seconds), seconds)
        return 0

    def make_sizes() -> Mapping[str, int]:
        if config.resume:
            check(sweep)
        return shard_sizes(sweep, shards) if config.shard else chunk_sizes(sweep, measure(sweep))

    with Running.of(config, "sweep", safe_name(Path(config.config).stem)) as running:
        chunks = open_sweep(sweep, running.directory, running.versions, make_sizes)
        if config.slurm is not None:
            script = write_script(config, running.directory)
            print_lines(f"script: {script}", f"start it with: sbatch {shlex.quote(str(script))}")
            return 0
        running.run(chunks[part::shards])
        if not running.interrupted:
            _conclude(chunks, running.directory)
    return running.status


def _conclude(chunks: Sequence[Chunk], directory: Path) -> None:
    """Write the tables, unless chunks are left to other processes."""
    ended = sum(chunk.path.exists() or chunk.error_path.exists() for chunk in chunks)
    if ended < len(chunks):
        print_lines(
            f"chunks: {ended:,} of {len(chunks):,} are in {directory}; "
            "the tables follow when all are"
        )
        return
    claim = Claim(directory / TABLE)
    if not claim.take():
        print_lines(f"tables: another process writes them to {directory}")
        return
    try:
        report(chunks, directory)
    finally:
        claim.give_back()


def _shard(text: str | None) -> tuple[int, int]:
    """Return which shard is asked for, counted from 0, and how many there are."""
    if text is None:
        return 0, 1
    part, slash, shards = text.partition("/")
    number, total = plain_integer(part), plain_integer(shards)
    if not slash or number is None or total is None or not 1 <= number <= total <= 100_000:
        raise UsageError(f"--shard {quoted(text)}; allowed: 1/n to n/n, such as 2/4, n to 100,000")
    return number - 1, total
