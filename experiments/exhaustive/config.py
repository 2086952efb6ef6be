"""The flags of an enumeration, and the objects they name."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from experiments.exhaustive.enumeration import Enumeration
from experiments.exhaustive.frame_bound import Bound, frame_bound
from experiments.exhaustive.restriction import restrict
from experiments.flags import UsageError, option
from experiments.goals import Goal, ProblemConfig, make_goal
from maestro_env.hardware import find_hardware
from maestro_env.map_space import TILES
from maestro_env.models import find_model
from maestro_env.objectives import OBJECTIVES
from maestro_env.workloads import find_layer

_WITHOUT_EFFECT = ("threads", "most", "out", "resume")
_COUNTS = ("vectors", "mappings", "units")


@dataclass(frozen=True)
class _Space:
    """The flags that say what is enumerated."""

    layer: str = option(
        "conv:K=8,C=8,Y=10,X=10,R=3,S=3", "a name of experiments.run --list-layers, or such as this"
    )
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")
    fix: str | None = option(
        None,
        "choices left to some parameters, such as l2_order=KCYXRS,l1_parallel=K,C,cluster_size=1",
        value="choices",
    )


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class ExhaustiveConfig(ProblemConfig, _Space):
    """Evaluate all mappings of a restricted space: the least objective there is in it."""

    tiles: str = option("divisors", f"choices of a tile size: {', '.join(TILES)}")
    prune: bool = option(
        False, "skip what a lower bound rules out: faster, but valid mappings are not all counted"
    )
    most: int = option(10**9, "mappings to look at, or it refuses", least=1, most=10**15)
    threads: int = option(1, "threads of the batch evaluation", least=1, most=1024)
    out: str | None = option(
        None,
        "where to write (default: the first free runs/<layer>-<objective>-optimum-<n>)",
        value="directory",
    )
    resume: bool = option(False, "continue the interrupted enumeration in --out")


@dataclass(frozen=True)
class Task:
    """A config resolved.

    Args:
        config: what was asked for.
        goal: of the enumeration.
        enumeration: of the mappings that are left.
        bound: to prune them by; None for all of them.
        size: about how many vectors are evaluated, or frames bounded if they are pruned.
    """

    config: ExhaustiveConfig
    goal: Goal
    enumeration: Enumeration
    bound: Bound | None
    size: int

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result, as JSON holds it."""
        flags = asdict(self.config)
        return {
            "config": {name: flags[name] for name in flags if name not in _WITHOUT_EFFECT},
            **self.goal.describe(),
            "enumeration": {name: getattr(self.enumeration, name) for name in _COUNTS},
        }


def resolve(config: ExhaustiveConfig) -> Task:
    """Look up everything a config names, and count its mappings."""
    hardware = find_hardware(config.hardware)
    goal = make_goal(config, find_layer(config.layer), hardware, config.objective)
    space = goal.problem.space
    still = find_model(goal.problem.model).ignores_still_loops
    enumeration = Enumeration(space, restrict(space, config.fix), still)
    bound = frame_bound(goal) if config.prune else None
    # Every frame has a vector or more; if there are too many, no sample of them can be drawn.
    size = enumeration.frames
    if size <= config.most and not config.prune:
        size = enumeration.size()
    if size > config.most:
        raise UsageError(
            f"{enumeration.mappings:,} mappings, of which {size:,} or more are to be looked at; "
            f"--most allows {config.most:,}: --fix more parameters or raise it"
        )
    return Task(config, goal, enumeration, bound, size)
