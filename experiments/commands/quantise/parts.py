"""Where the time of a search by agents with networks goes, by what computes the networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import mean
from unittest.mock import patch

import numpy as np

from experiments.search.goals import ProblemConfig, make_goal
from experiments.search.searches import run_search
from experiments.shown.statistics import bootstrap_interval, log_mean
from experiments.shown.tables import Sheet
from experiments.store.timing import Clock, measured, tell_circumstances
from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.workloads.finding import find_layer
from mappers.agents.fused import FusedAgents

try:
    from mappers.agents.networks import NetworkAgents
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro-env quantise parts", str(error.name), "rl") from error

BACKENDS = {"torch": NetworkAgents, "fused": FusedAgents}
MAPPERS = ("marl_mlp", "marl_paper")

_FIRST = 200
_PARTS = ("draw", "learn", "evaluate", "rest")


@dataclass(frozen=True)
class Parts:
    """CPU seconds of the parts of a search, and the value that it ended with."""

    layer: str
    objective: str
    mapper: str
    backend: str
    samples: int
    seed: int
    draw: float
    learn: float
    evaluate: float
    rest: float
    whole: float
    best: float


@dataclass(frozen=True)
class Searches:
    """What is searched: each layer by each mapper and backend, from each seed."""

    layers: Sequence[str]
    hardware: str
    objective: str
    samples: int
    seeds: int


def parts(searches: Searches, csv: str | None) -> int:
    """Measure, print, write after every search if asked to, and return the exit status."""
    tell_circumstances(csv)
    for mapper, backend in product(MAPPERS, BACKENDS):
        # What is imported or made at the first use is no part of a search.
        next(_timed(replace(searches, samples=_FIRST), searches.layers[0], mapper, backend, 0))
    kinds = product(range(searches.seeds), searches.layers, MAPPERS, BACKENDS)
    cases = {
        f"{mapper}, {backend}, {layer}, seed {seed}": partial(
            _timed, searches, layer, mapper, backend, seed
        )
        for seed, layer, mapper, backend in kinds
    }
    rows, status = measured(cases, csv)
    if rows:
        _sheet(rows).print()
    return status


def _timed(searches: Searches, layer: str, mapper: str, backend: str, seed: int) -> Iterator[Parts]:
    """Yield the parts of a search; both backends have the same seeds."""
    config = ProblemConfig(hardware=searches.hardware)
    hardware = find_hardware(config.hardware)
    goal = make_goal(config, find_layer(layer), hardware, searches.objective)
    evaluator = Evaluator(goal.problem, goal.objective, searches.samples)
    clock = Clock()
    with _watched(clock, backend):
        # The mapper's name decides the seeds, not what computes it.
        clock.timed("rest", run_search)(evaluator, mapper, seed, f"{mapper}:backend={backend}")
    best = evaluator.best.value if evaluator.best else np.inf
    what = layer, searches.objective, mapper, backend, searches.samples, seed
    draw, learn, evaluate, rest = (clock.cpu[part] for part in _PARTS)
    whole = draw + learn + evaluate + rest
    yield Parts(*what, draw, learn, evaluate, rest, whole, best)


@contextmanager
def _watched(clock: Clock, backend: str) -> Iterator[None]:
    """Time the calls of agents and of the cost model while the block runs."""
    agents = BACKENDS[backend]
    watched = (
        *((agents, "draw", "draw"), (agents, "learn", "learn")),
        *((Evaluator, "evaluate", "evaluate"), (Evaluator, "observe", "evaluate")),
    )
    with ExitStack() as stack:
        for owner, name, part in watched:
            timed = clock.timed(part, getattr(owner, name))
            stack.enter_context(patch.object(owner, name, timed))
        yield


def _sheet(rows: Sequence[Parts]) -> Sheet:
    torch = {_search(row): row for row in rows if row.backend == "torch"}
    cells = []
    for mapper, backend in product(MAPPERS, BACKENDS):
        own = [row for row in rows if (row.mapper, row.backend) == (mapper, backend)]
        if own:
            before = [torch[_search(row)] for row in own]
            faster = sum(row.whole for row in before) / sum(row.whole for row in own)
            times = [mean(getattr(row, part) for row in own) for part in (*_PARTS, "whole")]
            shown = (f"{each:.2f}" for each in (*times, faster))
            cells.append((mapper, backend, *shown, _quality(own, before)))
    searches = len({(row.layer, row.seed) for row in rows})
    return Sheet(
        f"{rows[0].samples:,} samples: CPU seconds, means of {searches} searches",
        ("mapper", "backend"),
        ("draw", "learn", "model", "rest", "whole", "faster", "end / torch"),
        cells,
        "model: the cost model; end / torch: geometric mean of the ends' ratios [95 % interval "
        "over searches]",
    )


def _search(row: Parts) -> tuple[str, str, int]:
    return row.mapper, row.layer, row.seed


def _quality(own: Sequence[Parts], before: Sequence[Parts]) -> str:
    """Say how much higher searches end than the others, of those where both found a mapping."""
    ratios = np.array([row.best / other.best for row, other in zip(own, before, strict=True)])
    ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
    if len(ratios) < 2:
        return "-"
    low, high = bootstrap_interval(ratios, figure=log_mean)
    return f"{log_mean(ratios):.2f} [{low:.2f}, {high:.2f}]"
