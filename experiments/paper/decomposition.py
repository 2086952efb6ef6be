"""What each step from single-agent PPO to the final learner saves (beside Fig. 5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import pairwise, product

from experiments.cells import Finished
from experiments.csv_files import read_csv, write_csv
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.fig5 import LAYERS
from experiments.paper.item import Claim, Item, Places, Run, Scale, Section
from experiments.paper.reach import Factor, Reach, factor, mean_factor, median_best, samples_to_cost
from experiments.sheets import Sheet

_FILE = "samples.csv"
_REACH = tuple(field.name for field in fields(Reach))
_OBJECTIVES = ("latency", "edp")
# PPO as the paper has it, and nothing that was added to it.
_PLAIN = (
    "policy=mlp:batch=64:epochs=4:rate=0.003:entropy=0.01:exploration=0:imitation=0:reward=inverse:"
    "refinement=0:draw=uniform:patience=0"
)
_DEFAULT = "ppo"
_STEPS = {
    _DEFAULT: "`ppo`: one agent, defaults of stable-baselines3",
    f"marl:agents=1:{_PLAIN}": "one agent, small updates",
    f"marl:agents=0:{_PLAIN}": "the same, an agent per parameter",
    "marl": "`marl`: the final learner",
}
_BESIDE = {"ppo:episode_length=100": "`ppo:episode_length=100`"}
_AGENTS = 1
"""Index of the step from one agent to many."""

Samples = Mapping[tuple[str, str], Mapping[str, Reach]]
"""What each mapper needed, by problem."""


class Decomposition(Item):
    """A chain of learners, each with one thing more than the one before."""

    name = "decomposition"
    title = "Where the speed-up over single-agent RL comes from"

    def runs(self, scale: Scale) -> Iterable[Run]:
        many = {_DEFAULT, "marl"}
        for layer, objective in product(LAYERS, _OBJECTIVES):
            for mapper in (*_STEPS, *_BESIDE):
                for seed in range(scale.seeds if mapper in many else scale.few_seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        rows = (
            (arena.contest.layer, arena.contest.objective, mapper, *astuple(reach))
            for arena in make_arenas(finished, scale.samples)
            if arena.has(_DEFAULT)
            for mapper, reach in samples_to_default(arena)
        )
        write_csv(places.results / _FILE, ("layer", "objective", "mapper", *_REACH), rows)

    def section(self, places: Places) -> Section:
        samples: dict[tuple[str, str], dict[str, Reach]] = {}
        for row in read_csv(places.results / _FILE):
            reach = Reach(float(row["median"]), *(int(row[name]) for name in _REACH[1:]))
            samples.setdefault((row["layer"], row["objective"]), {})[row["mapper"]] = reach
        return Section(list(_claims(samples)), _sheet(samples).markdown(level=3))


def samples_to_default(arena: Arena) -> Iterator[tuple[str, Reach]]:
    """Yield what each mapper needed to find what ``ppo`` has at its end, median over its seeds."""
    target = median_best(arena.contest.searches[_DEFAULT], arena.samples)
    for mapper in (*_STEPS, *_BESIDE):
        if arena.has(mapper):
            yield mapper, samples_to_cost(arena.contest.searches[mapper], target)


def saved(samples: Samples, slow: str, fast: str) -> Factor | None:
    """Return the geometric mean over problems of how many times fewer samples one needed."""
    both = [found for found in samples.values() if {slow, fast} <= found.keys()]
    return mean_factor([factor(found[slow], found[fast]) for found in both]) if both else None


def _sheet(samples: Samples) -> Sheet:
    before = {fast: slow for slow, fast in pairwise(_STEPS)}
    rows = []
    for mapper, name in {**_STEPS, **_BESIDE}.items():
        reaches = [str(found[mapper]) if mapper in found else "-" for found in samples.values()]
        step = saved(samples, before[mapper], mapper) if mapper in before else None
        rows.append([name, *reaches, _text(step), _text(saved(samples, _DEFAULT, mapper))])
    problems = [f"{layer}, {objective}" for layer, objective in samples]
    note = (
        "Samples until a search has found what `ppo` has found at its end (median over its seeds): "
        "median over seeds (searches that got there / all); > is the whole budget, and < or > "
        "before a factor what that leaves of it. Times fewer: geometric mean over problems, "
        "against the line above and against `ppo`. The second and third line are "
        f"`marl:agents=1:{_PLAIN}` and the same with `agents=0`, its rate chosen on resnet18_l2; "
        "the last line has tables in the place of networks, log-uniform draws, exploration, "
        "imitation and refinement of the best, and new starts."
    )
    headers = (*problems, "fewer than the line above", "fewer than `ppo`")
    return Sheet("Samples to the end of single-agent PPO", note, "learner", headers, rows)


def _text(found: Factor | None) -> str:
    return "" if found is None else str(found)


def _claims(samples: Samples) -> Iterator[Claim]:
    steps = [saved(samples, slow, fast) for slow, fast in pairwise(_STEPS)]
    known = [step for step in steps if step is not None]
    if len(known) == len(steps):
        updates, agents, rest = known
        yield Claim(
            "the gains in sample efficiency are primarily attributed to assigning parameters to "
            "several agents (I).",
            mainly(known, _AGENTS),
            f"small updates save {updates}, an agent per parameter {agents}, and the rest of the "
            f"learner {rest} (geometric means over {len(samples)} problems).",
        )


def mainly(steps: Sequence[Factor], index: int) -> bool | None:
    """Say whether one step saves more than all others together; None if bounds leave that open."""
    if any(step.bound for step in steps):
        return None
    logs = [math.log(step.value) for step in steps]
    return logs[index] > sum(logs) - logs[index]
