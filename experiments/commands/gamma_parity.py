"""``maestro-env gamma-parity``: compare mapper gamma with GAMMA's own program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.search.goals import Goal, ProblemConfig, make_goal, require_fit
from experiments.search.searches import run_search
from experiments.shell.flags import option
from experiments.shown.progress import Bar
from experiments.shown.statistics import Floats
from experiments.shown.tables import Sheet
from maestro_env.accelerators.finding import find_hardware
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.workloads.finding import find_layer


@dataclass(frozen=True)
class Config:
    """Search as GAMMA's program did and compare with what it found; status 1 if any is worse."""

    mapper: str = option("gamma", "what searches, settings behind it, as in gamma:mutations=2")
    seeds: int = option(10, "searches a layer and objective, one a seed", least=1, most=10_000)
    seed: int = option(0, "the first seed; the others count up from it")


_PROBLEM = ProblemConfig(hardware="unlimited", model="maestro", guard=False, energy="csv")
_SMALL = "conv:K=16,C=32,Y=112,X=112,R=1,S=1"
_LARGE = "conv:K=64,C=64,Y=224,X=224,R=3,S=3"
_WORSE = "worse"

# The best value after so many samples, of each of three seeds, by layer and objective.
# GAMMA 3d6caf8 calling the MAESTRO binary 4eb08d1: 1024 PEs, buffers and bandwidth unlimited, two
# levels, tiles of R and S full, population 100, 200 generations, ties broken by energy, other
# arguments as by default. Its samples count the elites it evaluates again.
ORIGINAL: dict[tuple[str, str], dict[int, tuple[float, float, float]]] = {
    (_SMALL, "latency"): {2_000: (3529, 3865, 2897), 20_000: (2689, 2365, 2273)},
    (_SMALL, "edp"): {2_000: (1.994e7, 1.768e7, 2.515e7), 20_000: (1.014e7, 1.038e7, 1.138e7)},
    (_LARGE, "latency"): {2_000: (944801, 892825, 864009), 20_000: (578349, 572837, 563049)},
    (_LARGE, "edp"): {
        2_000: (4.903e10, 6.621e10, 3.985e10),
        20_000: (2.997e10, 3.333e10, 3.379e10),
    },
}


def execute(config: Config) -> int:
    """Search, print, and return the exit status."""
    hardware = find_hardware(_PROBLEM.hardware)
    goals = {
        (layer, objective): make_goal(_PROBLEM, find_layer(layer), hardware, objective)
        for layer, objective in ORIGINAL
    }
    require_fit([config.mapper], goals.values())
    rows: list[tuple[str, ...]] = []
    for (layer, objective), found in ORIGINAL.items():
        with Bar(f"{layer} {objective}", max(found) * config.seeds) as bar:
            bests = _search(goals[layer, objective], max(found), config, bar)
        for samples, theirs in found.items():
            ours = bests[:, samples - 1]
            median, best = ("as good" if each else _WORSE for each in holds(ours, np.array(theirs)))
            place = (layer.removeprefix("conv:"), objective, f"{samples:,}")
            figures = (_figure(float(np.median(ours))), median, _figure(ours.min()), best)
            rows.append((*place, *map(_figure, theirs), *figures))
    title = (
        f"{config.mapper}, seeds {config.seed} to {config.seed + config.seeds - 1}, against three "
        f"seeds of GAMMA's program: hardware {_PROBLEM.hardware}, {_PROBLEM.model} without guard, "
        f"energy {_PROBLEM.energy}"
    )
    columns = ("our median", "against\ntheir worst", "our best", "against\ntheir median")
    headers = ("samples", "GAMMA", "", "", *columns)
    Sheet(title, ("layer", "objective"), headers, rows).print()
    return int(any(_WORSE in row for row in rows))


def holds(ours: Floats, theirs: Floats) -> tuple[bool, bool]:
    """Say whether our median is no worse than their worst, and our best than their median."""
    median = bool(np.median(ours) <= theirs.max())
    return median, bool(ours.min() <= np.median(theirs))


def _search(goal: Goal, samples: int, config: Config, bar: Bar) -> Floats:
    """Return the best so far after every sample of each seed's search, float64[seeds, samples]."""
    curves: list[Floats] = []
    for seed in range(config.seed, config.seed + config.seeds):
        follow = partial(bar.follow, before=len(curves) * samples)
        evaluator = Evaluator(goal.problem, goal.objective, samples, on_batch=follow)
        run_search(evaluator, config.mapper, seed)
        curves.append(np.minimum.accumulate(evaluator.trace[0]))
    return np.stack(curves)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value < 10**6 else f"{value:.3e}"
