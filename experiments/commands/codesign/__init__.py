"""``maestro-env codesign``: find the accelerators of a grid that suit networks best.

Networks are mapped to accelerators in rounds of a sweep each; then the front is reported.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Protocol

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.experiments.commands.codesign.designs import Design, designs_of
from maestro_env.experiments.commands.codesign.flags import Config
from maestro_env.experiments.commands.codesign.grid import Grid, make_grid
from maestro_env.experiments.commands.codesign.report import Explored, report
from maestro_env.experiments.search.named_mappers import find_mappers
from maestro_env.experiments.shell.files import RecordError, ensure_directory, is_empty, safe_name
from maestro_env.experiments.shell.flags import UsageError, unique
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.store.claims import ANEW, CONFIG
from maestro_env.experiments.store.records import refuse_damaged
from maestro_env.experiments.store.running import Running
from maestro_env.experiments.study.sweep.axes import Sweep, make_sweep
from maestro_env.experiments.study.sweep.chunks import open_sweep, recorded_chunks
from maestro_env.experiments.study.sweep.fronts import SWEEPS
from maestro_env.experiments.study.sweep.plan import check, plan_chunks
from maestro_env.experiments.study.sweep.results import TABLE, Results, collect
from maestro_env.workloads.finding import find_network


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    grid = make_grid(config)
    sweep, note = _resolve(config, grid)
    explorer = explorer_of(config, grid)
    if note:
        print_errors(f"note: {note}")
    check(sweep)
    with Running.of(config, "codesign", f"codesign-{safe_name(config.networks)}") as running:
        directory = running.directory
        if not (directory / SWEEPS).is_dir() and not is_empty(directory):
            raise RecordError(f"{directory} has files but no {SWEEPS}: not a co-design; {ANEW}")
        _check_records(directory / SWEEPS)
        began, designs, searched = time.perf_counter(), list[Design](), 0.0
        for number in count(1):
            if running.status or not (chosen := explorer.ask()):
                break
            part = replace(sweep, hardware=tuple(chosen))
            results = _search(part, directory / SWEEPS / str(number), running)
            searched += results.seconds
            found = list(designs_of(results, grid))
            designs += found
            # The last workload is the whole one.
            explorer.tell(found[-len(chosen) :])
        if not running.interrupted:
            report(Explored(config, grid, sweep, designs), directory)
            spent = time.perf_counter() - began
            print_lines(f"time: {spent:,.1f} s; searches: {searched / 3600:.3g} hours in all")
    return running.status


def _resolve(config: Config, grid: Grid) -> tuple[Sweep, str]:
    """Return the sweep of all accelerators, and a note on its mapper."""
    assert config.mapper is not None
    assert config.samples is not None
    if config.mapper == "all" or "," in config.mapper:
        raise UsageError(f"--mapper {config.mapper}: allowed: one mapper")
    mappers, note = find_mappers("--mapper", [config.mapper.strip()])
    networks = [find_network(name) for name in unique(config.networks.split(","))]
    hardware = list(grid.fitting.values())
    sweep = make_sweep(
        config, networks, [], hardware, [config.objective], mappers, config.samples, 1, config.seed
    )
    return sweep, note


def _check_records(sweeps: Path) -> None:
    """Refuse damaged records of all rounds at once."""
    begun = sorted(path.parent for path in sweeps.glob(f"*/{CONFIG}"))
    refuse_damaged([chunk for each in begun for chunk in recorded_chunks(each)])


def _search(sweep: Sweep, directory: Path, running: Running) -> Results:
    """Search the cells of a round that are not there yet, and return all."""
    ensure_directory(directory)
    chunks = open_sweep(sweep, directory, running.versions, partial(plan_chunks, sweep))
    running.run(chunks)
    return collect(chunks, directory / TABLE)


__all__ = ["Config", "execute"]


class Explorer(Protocol):
    """Chooses accelerators, round by round."""

    def ask(self) -> Sequence[Accelerator]:
        """Return the accelerators of the next round; none once it has chosen all it will."""

    def tell(self, designs: Sequence[Design]) -> None:
        """Learn what the workload takes on each of them, in their order."""


class Everything:
    """All accelerators of a grid that fit, in one round."""

    def __init__(self, grid: Grid) -> None:
        self._left = list(grid.fitting.values())

    def ask(self) -> Sequence[Accelerator]:
        return self._left

    def tell(self, designs: Sequence[Design]) -> None:
        self._left = []


def explorer_of(config: Config, grid: Grid) -> Explorer:
    """Return what chooses the accelerators that flags ask for.

    Raises:
        MissingExtraError: a search needs the extra ``optuna``.
    """
    if config.search is None:
        return Everything(grid)
    from maestro_env.experiments.commands.codesign.nsga2 import Search

    return Search(grid, config.search, config.seed)
