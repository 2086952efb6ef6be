"""What each step from single-agent PPO to the final learner saves (beside Fig. 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from maestro_env.experiments.papers.paper.items import (
    FilledFolder,
    Folder,
    Item,
    Lines,
    Scale,
    searches,
)
from maestro_env.experiments.papers.paper.ledger import Run
from maestro_env.experiments.papers.paper.reach import REACH_COLUMNS, Factor, Reach, mean_factor
from maestro_env.experiments.papers.paper.results import grouped

_OBJECTIVES = ("latency", "edp")
# The paper's agents, without what was added here: the settings of marl_paper.
PLAIN = (
    "policy=mlp:batch=64:epochs=4:rate=0.003:clip=0.2:entropy=0.01:exploration=0:imitation=0:"
    "reward=inverse:refinement=0:draw=uniform:patience=0"
)
_DEFAULT = "ppo"
_STEPS = {
    _DEFAULT: "`ppo`: one agent, defaults of stable-baselines3",
    f"marl:agents=1:{PLAIN}": "one agent, small updates, our PPO",
    f"marl:agents=0:{PLAIN}": "the same, an agent per parameter (`marl_paper`)",
    "marl": "`marl`: the final learner",
}
_BESIDE = {"ppo:episode_length=100": "`ppo:episode_length=100`"}
_LEARNERS = _STEPS | _BESIDE


def _runs(scale: Scale) -> Iterator[Run]:
    for mappers, seeds in ((_STEPS, scale.seeds), (_BESIDE, scale.few_seeds)):
        yield from searches(scale.figure_layers, _OBJECTIVES, mappers, seeds, scale.samples)


def _samples(found: FilledFolder) -> Lines:
    """Yield what each mapper needed to find what ``ppo`` has at its end, median over its seeds."""
    yield ("layer", "objective", "mapper", *REACH_COLUMNS)
    for arena in found.arenas:
        if arena.has(_DEFAULT):
            target = arena.median_best(_DEFAULT, arena.samples)
            for mapper in filter(arena.has, _LEARNERS):
                yield (*arena.problem, mapper, *arena.samples_to(mapper, target).row())


def _view(folder: Folder) -> dict[str, Any]:
    problems = grouped(folder.rows("samples.csv"), "layer", "objective")
    samples = [{row["mapper"]: Reach.of(row) for row in rows} for rows in problems.values()]
    steps = {fast: _saved(samples, slow, fast) for slow, fast in pairwise(_STEPS)}
    whole = {mapper: _saved(samples, _DEFAULT, mapper) for mapper in _LEARNERS}
    _, agents, _ = steps.values()
    return {
        "learners": _LEARNERS,
        "problems": list(problems),
        "samples": samples,
        "plain": PLAIN,
        "steps": steps,
        "whole": whole,
        "told": [each.told for each in (*steps.values(), whole["marl"])],
        "verdicts": {"agents": mainly(agents, whole["marl"])},
    }


def _saved(problems: Iterable[Mapping[str, Reach]], slow: str, fast: str) -> Factor:
    """Return how many times fewer samples one needed, over the problems that both have."""
    there = [samples for samples in problems if {slow, fast} <= {*samples}]
    return mean_factor([(samples[slow], samples[fast]) for samples in there])


def mainly(step: Factor, whole: Factor) -> bool | None:
    """Say whether a step saves more than all others together; None if intervals leave that open.

    The factors of steps multiply: it does if its square is more than the factor of all of them.
    """
    if step.low**2 > whole.high:
        return True
    return False if step.high**2 <= whole.low else None


ITEM = Item("decomposition", runs=_runs, files={"samples.csv": _samples}, view=_view)
