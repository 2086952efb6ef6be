"""The sweep: read its file, search the chunks that are not there yet, write what they found."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import quoted
from maestro_env.experiments.commands.sweep.description import read_sweep
from maestro_env.experiments.commands.sweep.flags import Config
from maestro_env.experiments.commands.sweep.plan import print_plan
from maestro_env.experiments.commands.sweep.report import report
from maestro_env.experiments.commands.sweep.slurm import write_script
from maestro_env.experiments.shell.files import safe_name
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.store.claims import Claim
from maestro_env.experiments.store.running import Running
from maestro_env.experiments.study.sweep.checks import check, measure
from maestro_env.experiments.study.sweep.chunks import Chunk, chunk_sizes, open_sweep, shard_sizes
from maestro_env.experiments.study.sweep.results import TABLE


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    if config.slurm and config.shard:
        raise UsageError("--slurm and --shard: give one of them; tasks of Slurm share the chunks")
    part, shards = _shard(config.shard)
    sweep, note = read_sweep(config.config)
    if note:
        print_errors(f"note: {note}")
    if config.dry_run:
        check(sweep)
        seconds = measure(sweep)
        print_plan(sweep, chunk_sizes(sweep, seconds), seconds)
        return 0
    if not config.resume:
        # Before there is a directory.
        check(sweep)

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
