"""Where the time of a search by agents with networks goes, by what computes the networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import product
from statistics import mean
from unittest.mock import patch

import numpy as np

from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.checks import look_up
from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.search.goals import ProblemConfig, make_goal
from maestro_env.experiments.search.searches import run_search
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.statistics import bootstrap_interval, log_mean
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.timing import Clock, measured, tell_circumstances
from maestro_env.mappers import make_mapper
from maestro_env.mappers.agents.stateless import FusedAgents
from maestro_env.prior.proposals import Proposer
from maestro_env.workloads.finding import find_layer

try:
    from stable_baselines3 import PPO
    from stable_baselines3.common.policies import ActorCriticPolicy

    from maestro_env.mappers.agents.networks import NetworkAgents
    from maestro_env.mappers.papers.off_policy import OffPolicyLearner
    from maestro_env.mappers.ppo import FusedPolicy
    from maestro_env.mappers.prior_adapted import AdaptedPriorMapper
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro-env quantise parts", str(error.name), "rl") from error

MAPPERS = ("marl_mlp", "marl_paper", "ppo", "maddpg", "masac", "prior_adapted")
"""Mappers with networks."""

# The backend of mappers that have no choice of one.
_ONLY = "-"
_FIRST = 200
_PARTS = ("draw", "learn", "evaluate", "rest")
# Where networks draw and learn, and the cost model evaluates. Critics that choose among drawn
# actions count as drawing.
_WATCHED: Sequence[tuple[str, type, str]] = (
    ("draw", NetworkAgents, "draw"),
    ("learn", NetworkAgents, "learn"),
    ("draw", FusedAgents, "draw"),
    ("learn", FusedAgents, "learn"),
    ("draw", ActorCriticPolicy, "forward"),
    ("draw", FusedPolicy, "forward"),
    ("learn", PPO, "train"),
    ("draw", OffPolicyLearner, "act"),
    ("draw", OffPolicyLearner, "values"),
    ("learn", OffPolicyLearner, "update"),
    ("draw", Proposer, "greedy"),
    ("draw", Proposer, "draw"),
    ("learn", AdaptedPriorMapper, "tell"),
    ("evaluate", Evaluator, "evaluate"),
    ("evaluate", Evaluator, "observe"),
    ("evaluate", Evaluator, "evaluate_in_full"),
)


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
    """What is searched: each layer by each mapper and all its backends, from each seed."""

    mappers: Sequence[str]
    layers: Sequence[str]
    hardware: str
    objective: str
    samples: int
    seeds: int


def parts(searches: Searches, csv: str | None) -> int:
    """Measure, print, write after every search if asked to, and return the exit status.

    Raises:
        UnknownNameError: a mapper that has no networks.
        UsageError: a mapper with a backend.
        LayerError: a layer that cannot be found.
    """
    for layer in searches.layers:
        find_layer(layer)
    ProblemConfig(hardware=searches.hardware).accelerator()
    kinds = [(mapper, each) for mapper in searches.mappers for each in _backends(mapper)]
    tell_circumstances(csv)
    for mapper, backend in kinds:
        # What is imported or made at the first use is no part of a search.
        next(_timed(replace(searches, samples=_FIRST), searches.layers[0], mapper, backend, 0))
    cases = {
        f"{mapper}, {backend}, {layer}, seed {seed}": partial(
            _timed, searches, layer, mapper, backend, seed
        )
        for seed, layer, (mapper, backend) in product(range(searches.seeds), searches.layers, kinds)
    }
    rows, status = measured(cases, csv)
    for table in _tables(rows, kinds) if rows else ():
        table.print()
    return status


def _backends(mapper: str) -> Sequence[str]:
    """Return what can compute a mapper's networks; a dash where there is no choice."""
    if "backend=" in mapper:
        raise UsageError(f"--mappers {mapper}: all backends are measured; leave out backend=")
    look_up("mapper", mapper.split(":")[0], dict.fromkeys(MAPPERS))
    settings = {each.name: each.metadata for each in fields(make_mapper(mapper).config)}
    return settings["backend"]["allowed"] if "backend" in settings else (_ONLY,)


def _timed(searches: Searches, layer: str, mapper: str, backend: str, seed: int) -> Iterator[Parts]:
    """Yield the parts of a search; both backends have the same seeds."""
    config = ProblemConfig(hardware=searches.hardware)
    hardware = find_hardware(config.hardware)
    goal = make_goal(config, find_layer(layer), hardware, searches.objective)
    evaluator = Evaluator(goal.problem, goal.objective, searches.samples)
    clock = Clock()
    made = mapper if backend == _ONLY else f"{mapper}:backend={backend}"
    with _watched(clock):
        # The mapper's name decides the seeds, not what computes it.
        clock.timed("rest", run_search)(evaluator, mapper, seed, made)
    best = evaluator.best.value if evaluator.best else np.inf
    what = layer, searches.objective, mapper, backend, searches.samples, seed
    draw, learn, evaluate, rest = (clock.cpu[part] for part in _PARTS)
    whole = draw + learn + evaluate + rest
    yield Parts(*what, draw, learn, evaluate, rest, whole, best)


@contextmanager
def _watched(clock: Clock) -> Iterator[None]:
    """Time the calls of networks and of the cost model while the block runs."""
    with ExitStack() as stack:
        for part, owner, name in _WATCHED:
            timed = clock.timed(part, getattr(owner, name))
            stack.enter_context(patch.object(owner, name, timed))
        yield


def _tables(rows: Sequence[Parts], kinds: Sequence[tuple[str, str]]) -> Iterator[Table]:
    """Yield the parts of all kinds, and those that there are two of next to each other."""
    first = {_search(row): row for row in reversed(rows)}
    parts, pairs = [], []
    for kind in kinds:
        own = [row for row in rows if (row.mapper, row.backend) == kind]
        if not own:
            continue
        times = {part: mean(getattr(row, part) for row in own) for part in (*_PARTS, "whole")}
        free = times["whole"] / (times["whole"] - times["draw"])
        parts.append((*kind, *(f"{each:.2f}" for each in (*times.values(), free))))
        before = [first[_search(row)] for row in own]
        if before != own:
            faster = sum(row.whole for row in before) / sum(row.whole for row in own)
            pairs.append((*kind, f"{faster:.2f}", _quality(own, before)))
    searches = len({(row.layer, row.seed) for row in rows})
    yield Table(
        f"{rows[0].samples:,} samples: CPU seconds, means of {searches} searches",
        ("mapper", "by"),
        ("draw", "learn", "model", "rest", "whole", "free"),
        parts,
        "model: the cost model; free: how much faster it would be if drawing took no time",
    )
    if pairs:
        yield Table(
            "compared with the mapper's first kind",
            ("mapper", "by"),
            ("times faster", "end / first"),
            pairs,
            "end / first: geometric mean of the ratios [95 % interval over searches]",
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
