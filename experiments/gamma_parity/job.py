"""Searches on the layers GAMMA's own program was measured on, beside what it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from experiments.flags import option
from experiments.goals import require_fit
from experiments.progress import Bar, best_note
from experiments.searches import run_search
from experiments.stats import Floats, best_so_far
from experiments.tables import new_table, print_table
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import find_hardware
from maestro_env.map_space import MapSpace
from maestro_env.objectives import find_objective
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer

HARDWARE, MODEL, ENERGY = "unlimited", "maestro", "csv"


@dataclass(frozen=True)
class Measured:
    """What GAMMA's program found on one layer for one objective.

    Args:
        layer: text of the layer.
        objective: what it minimised, with the energy of MAESTRO's CSV.
        found: samples to the best value after that many, of each of three seeds.
    """

    layer: str
    objective: str
    found: dict[int, tuple[float, float, float]]


_SMALL = "conv:K=16,C=32,Y=112,X=112,R=1,S=1"
_LARGE = "conv:K=64,C=64,Y=224,X=224,R=3,S=3"

# GAMMA 3d6caf8 calling the MAESTRO binary 4eb08d1: 1024 PEs, buffers and bandwidth unlimited, two
# levels, tiles of R and S full, population 100, 200 generations, ties broken by energy, other
# arguments as by default. Its samples count the elites it evaluates again.
ORIGINAL = (
    Measured(_SMALL, "latency", {2_000: (3529, 3865, 2897), 20_000: (2689, 2365, 2273)}),
    Measured(
        _SMALL, "edp", {2_000: (1.994e7, 1.768e7, 2.515e7), 20_000: (1.014e7, 1.038e7, 1.138e7)}
    ),
    Measured(
        _LARGE, "latency", {2_000: (944801, 892825, 864009), 20_000: (578349, 572837, 563049)}
    ),
    Measured(
        _LARGE,
        "edp",
        {2_000: (4.903e10, 6.621e10, 3.985e10), 20_000: (2.997e10, 3.333e10, 3.379e10)},
    ),
)


@dataclass(frozen=True)
class ParityConfig:
    """Search as GAMMA's program did and compare with what it found; status 1 if any is worse."""

    mapper: str = option("gamma", "what searches, settings behind it, as in gamma:mutations=2")
    seeds: int = option(10, "searches a layer and objective, one a seed", least=1, most=10_000)
    seed: int = option(0, "the first seed; the others count up from it")


@dataclass(frozen=True)
class Verdict:
    """The best of several seeds after some samples against those of the original.

    Args:
        original: float64[3].
        ours: float64[S], infinite where nothing valid was found.
    """

    original: Floats
    ours: Floats

    @property
    def median_holds(self) -> bool:
        """Whether our median is no worse than their worst."""
        return bool(np.median(self.ours) <= self.original.max())

    @property
    def best_holds(self) -> bool:
        """Whether our best is no worse than their median."""
        return bool(self.ours.min() <= np.median(self.original))


def execute(config: ParityConfig) -> int:
    """Search, print, and return the exit status."""
    require_fit([config.mapper], map(_space, ORIGINAL))
    rows = []
    for measured in ORIGINAL:
        name = f"{measured.layer} {measured.objective}"
        with Bar(name, max(measured.found) * config.seeds) as bar:
            rows += [(measured, *each) for each in _compare(measured, config, bar)]
    print_table(_table(rows, config))
    return 0 if all(each.median_holds and each.best_holds for _, _, each in rows) else 1


def _compare(measured: Measured, config: ParityConfig, bar: Bar) -> Iterator[tuple[int, Verdict]]:
    seeds = range(config.seed, config.seed + config.seeds)
    searches = (_search(measured, config.mapper, seed, bar, seed - seeds[0]) for seed in seeds)
    bests = np.stack(list(searches))
    for samples, found in measured.found.items():
        yield samples, Verdict(np.array(found), bests[:, samples - 1])


def _search(measured: Measured, mapper: str, seed: int, bar: Bar, before: int) -> Floats:
    """Return the best so far after every sample of one search, which some came before."""
    samples = max(measured.found)

    def follow(evaluator: Evaluator) -> None:
        bar.show(before * samples + evaluator.used, best_note(evaluator))

    problem = Problem(_space(measured), MODEL, guard=False)
    objective = find_objective(measured.objective, ENERGY)
    evaluator = Evaluator(problem, objective, samples, on_batch=follow)
    return best_so_far(run_search(evaluator, mapper, seed).values)


def _space(measured: Measured) -> MapSpace:
    return MapSpace(find_layer(measured.layer), find_hardware(HARDWARE))


def _table(rows: list[tuple[Measured, int, Verdict]], config: ParityConfig) -> Table:
    last = config.seed + config.seeds - 1
    table = new_table(
        f"{config.mapper}, seeds {config.seed} to {last}, against three seeds of GAMMA's program: "
        f"hardware {HARDWARE}, {MODEL} without guard, energy {ENERGY}",
        ("layer", "objective"),
        (
            "samples",
            *("GAMMA", "", ""),
            "our median",
            "against\ntheir worst",
            "our best",
            "against\ntheir median",
        ),
    )
    for measured, samples, each in rows:
        table.add_row(
            measured.layer.removeprefix("conv:"),
            measured.objective,
            f"{samples:,}",
            *(_figure(value) for value in each.original),
            _figure(float(np.median(each.ours))),
            _verdict(each.median_holds),
            _figure(each.ours.min()),
            _verdict(each.best_holds),
        )
    return table


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value < 10**6 else f"{value:.3e}"


def _verdict(holds: bool) -> str:
    return "as good" if holds else "worse"
