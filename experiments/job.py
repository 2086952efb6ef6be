"""The main job: search mappings of one layer and record what was found."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace
from zlib import crc32

import numpy as np

from experiments import cli, flags, records
from experiments.config import RunConfig, Task, resolve
from experiments.plots import draw
from experiments.progress import Bar, new_progress
from experiments.searches import Search
from experiments.tables import layers_table, print_table, summary_table
from maestro_env.evaluator import Evaluator
from maestro_env.workloads import all_layers
from mappers import make_mapper


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
    if not _report(task, writer, _search_all(task, writer)):
        return 0
    resuming = flags.to_flags(replace(config, out=str(writer.directory), resume=True))
    with cli.undisturbed():
        print(
            f"interrupted: the trace so far is in {writer.directory}; "
            f"continue with: python -m experiments.run {shlex.join(resuming)}",
            file=sys.stderr,
        )
    return cli.INTERRUPTED


def _search_all(task: Task, writer: records.RunWriter) -> bool:
    """Run the searches the writer lacks; return whether Ctrl-C ended them."""
    kept = {(search.mapper, search.seed): search for search in writer.searches}
    evaluations = task.config.samples * len(task.seeds)
    try:
        with new_progress() as progress:
            bars = {name: Bar(progress, name, evaluations) for name in task.mappers}
            for mapper, bar in bars.items():
                for seed in task.seeds:
                    bar.finish(kept.get((mapper, seed)) or _search(task, mapper, seed, writer, bar))
    except KeyboardInterrupt:
        return True
    return False


def _report(task: Task, writer: records.RunWriter, interrupted: bool) -> bool:
    """Write and show what was found; return whether Ctrl-C ended this or the searches."""
    try:
        print_table(summary_table(task, writer.finish(interrupted)))
        print(f"plot: {draw(writer.directory)}")
    except KeyboardInterrupt:
        with cli.undisturbed():
            writer.finish(interrupted=True)
        return True
    return interrupted


def _search(task: Task, mapper: str, seed: int, writer: records.RunWriter, bar: Bar) -> Search:
    """Run one search and record it, even if something ends it early."""
    config = task.config
    evaluator = Evaluator(
        task.problem, task.objective, config.samples, config.threads, on_batch=bar.follow
    )
    began = time.perf_counter()
    try:
        make_mapper(mapper).search(evaluator, config.samples, stream(mapper, seed))
    finally:
        seconds = time.perf_counter() - began
        search = Search.of(evaluator, mapper, seed, seconds)
        if evaluator.used:
            writer.add(search)
    return search


def stream(mapper: str, seed: int) -> np.random.Generator:
    """Return a mapper's random stream, the same whichever other mappers run."""
    return np.random.default_rng(np.random.SeedSequence([seed, crc32(mapper.encode())]))
