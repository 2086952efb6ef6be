"""Ways to train the same agents: dense, sparse with fixed and with moving links, MAST, its parts.

They have in common the task, steps, exploration, replay, learning rate, and the size of updates.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from maestro_env.base.errors import MissingExtraError
from maestro_env.mappers.papers.tasks import Task

try:
    from maestro_env.mappers.papers.value_based.episodes import RECENT
    from maestro_env.mappers.papers.value_based.qmix import Course
    from maestro_env.mappers.papers.value_based.settings import Settings
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro-env sparse agents", str(error.name), "rl") from error

COPIES = 8
"""Episodes that are played at once, between which agents learn."""

UPDATES = 8
"""Updates after these, each from ``BATCH`` episodes."""

BATCH = 32


@dataclass(frozen=True)
class Variant:
    """What an arm does that not all do.

    Args:
        sparse: whether most weights do not exist.
        growth: as in ``Settings``.
        worth: of a next state, likewise.
        trace: lambda, likewise.
        recent: episodes of a batch that are drawn from the newest only.
    """

    sparse: bool = True
    growth: str = "none"
    worth: str = "max"
    trace: float = 0.0
    recent: int = 0


_MAST = Variant(True, Settings.growth, Settings.worth, Settings.trace, RECENT)
DENSE, TINY, MAST, MAST_SPARSITY = "dense", "tiny", "mast", "mast-sparsity"
ARMS: Mapping[str, Variant] = {
    DENSE: Variant(sparse=False),
    TINY: Variant(sparse=False),
    "static": Variant(),
    "set": Variant(growth="random"),
    "rigl": Variant(growth="gradient"),
    MAST: _MAST,
    MAST_SPARSITY: replace(_MAST, sparse=False, growth="none"),
    "mast-rigl": replace(_MAST, growth="none"),
    "mast-mellowmax": replace(_MAST, worth="max"),
    "mast-lambda": replace(_MAST, trace=0.0),
    "mast-recent": replace(_MAST, recent=0),
}
"""By name; after a dash stands the part that is left out of MAST."""


@dataclass(frozen=True)
class AgentSize:
    """Width of the two hidden layers of an agent, and share of the weights of sparse arms."""

    width: int
    density: float


@dataclass(frozen=True)
class Tuning:
    """What is tuned for a task, on its dense arm.

    Args:
        episodes: of a training, a multiple of ``COPIES``.
        rate: learning rate.
        copy: updates between two copies of the networks to their targets.
    """

    episodes: int
    rate: float
    copy: int

    @property
    def updates(self) -> int:
        """All of a training."""
        return self.episodes // COPIES * UPDATES

    def __str__(self) -> str:
        return f"{self.episodes:,} episodes, rate {self.rate:g}, copies every {self.copy} updates"


def course_of(arm: str, kind: str, task: Task, size: AgentSize, tuning: Tuning) -> Course:
    """Return how an arm is trained.

    Args:
        arm: one of ``ARMS``.
        kind: of learner.
        task: that is learnt.
        size: of the networks; those of ``tiny`` are narrower.
        tuning: for the task.
    """
    way = ARMS[arm]
    settings = Settings(
        tuning.updates,
        hidden=(size.width, size.width),
        rate=tuning.rate,
        copy=tuning.copy,
        worth=way.worth,
        trace=way.trace,
        density=size.density if way.sparse else 1.0,
        growth=way.growth,
        kernels="sparse" if way.sparse else "dense",
    )
    rows = tuning.episodes * task.length, BATCH * task.length
    course = Course(kind, task.widths, task.heads, settings, *rows)
    if arm != TINY:
        return course
    return _narrowed(course, course_of(MAST, kind, task, size, tuning))


def _narrowed(dense: Course, sparse: Course) -> Course:
    """Return a dense training that takes as many operations as a sparse one.

    The mixer takes as many as there, and so do the agents.
    """
    most, wanted = dense.settings, sparse.operations()

    def narrow(width: int, embedding: int) -> Counter[str]:
        return course(width, embedding).operations()

    def course(width: int, embedding: int) -> Course:
        hidden = (width,) * len(most.hidden)
        return replace(dense, settings=replace(most, hidden=hidden, embedding=embedding))

    embedding = _nearest(lambda each: _of_mixer(narrow(1, each)), _of_mixer(wanted), most.embedding)
    width = _nearest(lambda each: narrow(each, embedding).total(), wanted.total(), most.hidden[0])
    return course(width, embedding)


def _of_mixer(operations: Counter[str]) -> int:
    return sum(spent for purpose, spent in operations.items() if purpose.endswith("mixer"))


def _nearest(figure: Callable[[int], int], wanted: int, most: int) -> int:
    """Return the size from 1 to ``most`` whose figure, which grows with it, is nearest."""
    sizes = range(1, most + 1)
    at = min(bisect_left(sizes, wanted, key=figure), most - 1)
    return min(sizes[max(at - 1, 0) : at + 1], key=lambda size: abs(figure(size) - wanted))
