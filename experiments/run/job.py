"""The main job: search mappings of one layer and record what was found."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace

from experiments import cli, flags, records
from experiments.config import RunConfig, Task, resolve
from experiments.failures import record_failure
from experiments.files import distinct_name
from experiments.plots import draw
from experiments.progress import Bar, new_progress
from experiments.searches import Search, run_search
from experiments.tables import layers_table, print_table, summary_table
from maestro_env.evaluator import Evaluator
from maestro_env.workloads import all_layers


def execute(config: RunConfig) -> int:
    """Do what a config asks and return the exit status."""
    if config.list_layers:
        print_table(layers_table(all_layers()))
        return 0
    task = resolve(config)
    warning = task.problem.stride_warning()
    writer = records.resume(task) if config.resume else records.begin(task)
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    status = _report(task, writer, _search_all(task, writer))
    if status == cli.INTERRUPTED:
        resuming = flags.to_flags(replace(config, out=str(writer.directory), resume=True))
        with cli.undisturbed():
            print(
                f"interrupted: the trace so far is in {writer.directory}; "
                f"continue with: python -m experiments.run {shlex.join(resuming)}",
                file=sys.stderr,
            )
    return status


def _search_all(task: Task, writer: records.RunWriter) -> int:
    """Run the searches the writer lacks; return the exit status of that."""
    kept = {(search.mapper, search.seed): search for search in writer.searches}
    evaluations = task.config.samples * len(task.seeds)
    failed = 0
    try:
        with new_progress() as progress:
            bars = {name: Bar(progress, name, evaluations) for name in task.mappers}
            for mapper, bar in bars.items():
                for seed in task.seeds:
                    if search := kept.get((mapper, seed)):
                        bar.finish(search)
                    else:
                        failed += not _search(task, mapper, seed, writer, bar)
    except KeyboardInterrupt:
        return cli.INTERRUPTED
    return cli.FAILED if failed else 0


def _report(task: Task, writer: records.RunWriter, status: int) -> int:
    """Write and show what was found, if anything; return the status of this and the searches."""
    try:
        summary = writer.finish(status == cli.INTERRUPTED)
        if writer.searches:
            print_table(summary_table(task, summary))
            print(f"plot: {draw(writer.directory)}")
    except KeyboardInterrupt:
        with cli.undisturbed():
            writer.finish(interrupted=True)
        return cli.INTERRUPTED
    return status


def _search(task: Task, mapper: str, seed: int, writer: records.RunWriter, bar: Bar) -> bool:
    """Run one search and record it, even if Ctrl-C ends it early; return whether it succeeded."""
    config = task.config
    evaluator = Evaluator(
        task.problem, task.objective, config.samples, config.threads, on_batch=bar.follow
    )
    began = time.perf_counter()
    path = writer.directory / f"error-{distinct_name(mapper)}-{seed}.txt"
    try:
        search = run_search(evaluator, mapper, seed)
    except KeyboardInterrupt:
        if evaluator.used:
            writer.add(Search.of(evaluator, mapper, seed, time.perf_counter() - began))
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 (a mapper may raise anything)
        failure = record_failure(path, f"{mapper}, seed {seed}", error)
        print(f"{failure}; --resume runs it again", file=sys.stderr)
        return False
    writer.add(search)
    bar.finish(search)
    path.unlink(missing_ok=True)
    return True
