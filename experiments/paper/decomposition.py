"""What each step from single-agent PPO to the final learner saves (beside Fig. 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product

from experiments.cells import Finished
from experiments.csv_files import write_csv
from experiments.paper.arena import Arena, make_arenas
from experiments.paper.fig5 import LAYERS
from experiments.paper.item import Claim, Item, Places, Run, Scale, Section
from experiments.paper.reach import Factor, Reach, mean_factor, median_best, samples_to_cost
from experiments.paper.rows import read_rows
from experiments.sheets import Sheet

_FILE = "samples.csv"
_OBJECTIVES = ("latency", "edp")
# The paper's agents, without what was added here.
_PLAIN = (
    "policy=mlp:batch=64:epochs=4:rate=0.003:clip=0.2:entropy=0.01:exploration=0:imitation=0:"
    "reward=inverse:refinement=0:draw=uniform:patience=0"
)
_DEFAULT = "ppo"
_STEPS = {
    _DEFAULT: "`ppo`: one agent, defaults of stable-baselines3",
    f"marl:agents=1:{_PLAIN}": "one agent, small updates, our PPO",
    f"marl:agents=0:{_PLAIN}": "the same, an agent per parameter",
    "marl": "`marl`: the final learner",
}
_BESIDE = {"ppo:episode_length=100": "`ppo:episode_length=100`"}
Samples = Mapping[tuple[str, str], Mapping[str, Reach]]
"""What each mapper needed, by problem."""


class Decomposition(Item):
    """A chain of learners, each with one thing more than the one before."""

    name = "decomposition"
    title = "Where the speed-up over single-agent RL comes from"

    def runs(self, scale: Scale) -> Iterable[Run]:
        for layer, objective in product(LAYERS, _OBJECTIVES):
            for mapper in (*_STEPS, *_BESIDE):
                for seed in range(scale.seeds if mapper in _STEPS else scale.few_seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        rows = (
            (arena.contest.layer, arena.contest.objective, mapper, *reach.row())
            for arena in make_arenas(finished, scale.samples)
            if arena.has(_DEFAULT)
            for mapper, reach in samples_to_default(arena)
        )
        write_csv(places.results / _FILE, ("layer", "objective", "mapper", *Reach.header()), rows)

    def section(self, places: Places) -> Section:
        samples: dict[tuple[str, str], dict[str, Reach]] = {}
        for row in read_rows(places.results / _FILE):
            samples.setdefault((row["layer"], row["objective"]), {})[row["mapper"]] = Reach.of(row)
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
    return mean_factor([(found[slow], found[fast]) for found in both]) if both else None


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
        f"`marl:agents=1:{_PLAIN}` and the same with `agents=0`: the paper's agents without what "
        "was added here, their rate chosen on resnet18_l2. The step of small updates has more in "
        "it than batches of 64 samples in the place of rollouts of 2,048: it is our implementation "
        "of PPO instead of stable-baselines3's, with a learning rate of 0.003 for 0.0003, 4 "
        "gradient steps on a whole batch for 10 passes in minibatches of 64, and an entropy bonus "
        "of 0.01 for none; PPO's clip is 0.2 in both. The last line has tables in "
        "the place of networks, log-uniform draws, exploration, imitation and refinement of the "
        "best, and new starts."
    )
    headers = (*problems, "fewer than the line above", "fewer than `ppo`")
    return Sheet("Samples to the end of single-agent PPO", note, "learner", headers, rows)


def _text(found: Factor | None) -> str:
    return "" if found is None else str(found)


def _claims(samples: Samples) -> Iterator[Claim]:
    steps = [saved(samples, slow, fast) for slow, fast in pairwise(_STEPS)]
    whole = saved(samples, _DEFAULT, next(reversed(_STEPS)))
    known = [step for step in steps if step is not None]
    if whole is not None and len(known) == len(steps):
        updates, agents, rest = known
        yield Claim(
            "the gains in sample efficiency are primarily attributed to assigning parameters to "
            "several agents (I).",
            mainly(agents, whole),
            f"small updates and what comes with them save {updates.told}, an agent per parameter "
            f"{agents.told}, and the rest of the learner {rest.told}; all together {whole.told} "
            f"(geometric means over {len(samples)} problems).",
        )


def mainly(step: Factor, whole: Factor) -> bool | None:
    """Say whether a step saves more than all others together; None if intervals leave that open.

    The factors of steps multiply: it does if its square is more than the factor of all of them.
    """
    if step.low**2 > whole.high:
        return True
    return False if step.high**2 <= whole.low else None
