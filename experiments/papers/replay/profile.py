"""Where the time of training goes: MADDPG or MASAC on predator-prey, phase by phase.

A round is what Gogineni et al., *Towards Efficient Multi-Agent Learning Systems*, do again and
again: 100 steps of the task, then an update of all agents. What is timed are the calls of the
learner itself; whether they add up to the whole, which is timed apart, is checked.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from maestro_env.base.checks import look_up
from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.papers.replay.sample import (
    GIB,
    SHARED,
    Full,
    begin,
    readers,
    sampler_of,
)
from maestro_env.experiments.papers.replay.training import LEARNERS
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.timing import Clock, measured, now
from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.papers.tasks.physics import PredatorPrey

try:
    from maestro_env.experiments.papers.replay.one_by_one import OneByOne
    from maestro_env.mappers.papers.off_policy import OffPolicyLearner, collect
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro-env replay profile", str(error.name), "rl") from error

SAMPLERS: Mapping[str, object] = dict.fromkeys(("uniform", "neighbour_exact", SHARED))
"""Those whose batches have equal sizes, and that learn nothing themselves."""

STEPS = 100
"""Steps of the task, all copies together, between two updates."""


@dataclass(frozen=True)
class Variant:
    """What differs between two trainings.

    Args:
        layout: of replay.
        sampler: one of ``SAMPLERS``.
        copies: of the task, which step together.
        one_by_one: whether the networks of the agents run one after another.
    """

    layout: str
    sampler: str = "uniform"
    copies: int = 1
    one_by_one: bool = False


_BASE = Variant("list", one_by_one=True)
_REPLAY = replace(_BASE, layout="joint")
_TASK = replace(_REPLAY, copies=25)
_NETWORKS = replace(_TASK, one_by_one=False)
VARIANTS: Mapping[str, Variant] = {
    "base": _BASE,
    "replay": _REPLAY,
    "task": _TASK,
    "networks": _NETWORKS,
    "shared": replace(_NETWORKS, sampler=SHARED),
}
"""One change after another: each has those before it, too."""


def variants(layouts: Sequence[str], samplers: Sequence[str]) -> dict[str, Variant]:
    """Return variants of one copy of the task and networks side by side, by name."""
    several = len(samplers) > 1
    return {
        f"{layout} {sampler}" if several else layout: Variant(layout, sampler)
        for layout in layouts
        for sampler in samplers
    }


SAMPLING, REST, WHOLE = "sampling", "rest", "whole"

UPDATE = {SAMPLING: 61, "target Q": 21, "Q loss": 10, "P loss": 8}
"""Phases of an update, and their percentages in Figure 4 of Gogineni et al. (2023)."""

PHASES = ("actions", "environment", *UPDATE, "soft update", REST)
"""All phases of a round."""

_PHASE_OF_CALL = {
    "act": "actions",
    "reset": "environment",
    "step": "environment",
    "target_values": "target Q",
    "fit_critics": "Q loss",
    "improve_actors": "P loss",
    "follow": "soft update",
}
"""Phases by the calls of a task and a learner.

The rest is the writing of steps to replay, and the stacking of batches as networks take them.
"""


@dataclass(frozen=True)
class Phase:
    """The mean times of a phase, or of the whole of a round, in milliseconds."""

    agents: int
    variant: str
    layout: str
    sampler: str
    copies: int
    one_by_one: bool
    learner: str
    dtype: str
    entries: int
    batch: int
    rounds: int
    replay_gib: float
    weights: str
    phase: str
    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True)
class Profiling(Full):
    """What is measured: everything for each number of agents."""

    learner: str
    variants: Mapping[str, Variant]
    rounds: int


def profile(profiling: Profiling, memory_gib: float, csv: str | None) -> int:
    """Measure, print, write after every training if asked to, and return the exit status.

    The status is not 0 if the phases do not add up, or if weights depend on the layout.
    """
    look_up("learner", profiling.learner, LEARNERS)
    if profiling.learner != "maddpg" and any(
        each.one_by_one for each in profiling.variants.values()
    ):
        raise UsageError(
            f"--learner {profiling.learner}: networks one by one are those of maddpg; leave out "
            "the variants base, replay and task"
        )
    begin(profiling, memory_gib, csv)
    cases = {
        f"{name}, {agents} agents": partial(_trained, profiling, name, agents)
        for agents in profiling.agents
        for name in profiling.variants
    }
    rows, status = measured(cases, csv)
    if not rows:
        return status
    right = print_phases(rows), _same_weights(rows)
    return status if all(right) else cli.FAILED


class _Training:
    """A learner and all it needs, with the same seeds in every variant."""

    def __init__(self, profiling: Profiling, variant: Variant, agents: int) -> None:
        self._profiling, self.variant = profiling, variant
        learner_class = OneByOne if variant.one_by_one else LEARNERS[profiling.learner]()
        task = self.task = PredatorPrey(variant.copies, agents)
        self.learner = learner_class(task.widths, task.heads, np.random.default_rng(0))
        self.replay = profiling.filled(variant.layout, agents)
        self._sampler = sampler_of(variant.sampler, self.replay, np.random.default_rng(1))
        self._steps = collect(task, self.learner, np.random.default_rng(2))

    def rounds(self, count: int, clock: Clock) -> None:
        """Train, and time all that is neither the task's nor the learner's."""
        store = clock.timed(REST, lambda: self.replay.add(*next(self._steps)))
        sample = clock.timed(SAMPLING, self._batches)
        learn = clock.timed(REST, lambda: self.learner.update(sample()))
        for _ in range(count):
            for _ in range(STEPS // self.variant.copies):
                store()
            learn()

    def _batches(self) -> list[Batch]:
        count = readers(self.variant.sampler, self.learner.agents)
        return list(self._profiling.read(self.replay, self._sampler, count))


def _trained(profiling: Profiling, name: str, agents: int) -> Iterator[Phase]:
    """Yield the times of all phases of one training, and of the whole."""
    variant = profiling.variants[name]
    training = _Training(profiling, variant, agents)
    training.rounds(1, Clock())  # Memory and libraries are ready after it.
    clock = Clock()
    for owner in (training.task, training.learner):
        for call, phase in _PHASE_OF_CALL.items():
            if hasattr(owner, call):
                setattr(owner, call, clock.timed(phase, getattr(owner, call)))
    count = profiling.rounds - 1
    before = now()
    training.rounds(count, clock)
    clock.wall[WHOLE], clock.cpu[WHOLE] = (
        after - start for after, start in zip(now(), before, strict=True)
    )
    weights = _digest(training.learner)
    for phase in (*PHASES, WHOLE):
        yield Phase(
            agents=agents,
            variant=name,
            **asdict(variant),
            learner=profiling.learner,
            dtype=profiling.dtype,
            entries=profiling.capacity,
            batch=profiling.batch,
            rounds=profiling.rounds,
            replay_gib=training.replay.nbytes / GIB,
            weights=weights,
            phase=phase,
            wall_ms=1000 * clock.wall[phase] / count,
            cpu_ms=1000 * clock.cpu[phase] / count,
        )


def _digest(learner: OffPolicyLearner) -> str:
    """Return a digest of the weights of all actors and critics."""
    digest = hashlib.sha256()
    for networks in (learner.actors, *learner.critics, *learner.target_critics):
        for each in networks.parameters:
            digest.update(each.detach().numpy().tobytes())
    return digest.hexdigest()[:16]


def _same_weights(rows: Sequence[Phase]) -> bool:
    """Say whether trainings that differ in the layout only have equal weights."""
    alike: dict[tuple[object, ...], dict[str, str]] = defaultdict(dict)
    for row in rows:
        alike[row.agents, row.sampler, row.copies, row.one_by_one][row.variant] = row.weights
    same = True
    for (agents, *_), found in alike.items():
        if len(found) > 1:
            equal = len(set(found.values())) == 1
            same &= equal
            print_lines(
                f"{agents} agents: {'equal' if equal else 'DIFFERENT'} weights after "
                f"{rows[0].rounds} rounds: {', '.join(found)}"
            )
    return same


_MOST_MISSING = 0.03
# A table of more columns would not fit 80 characters.
_COLUMNS = 6
_FOLDS = str.maketrans(" _", "\n\n")

_Phases = dict[str, Phase]


def print_phases(rows: Sequence[Phase]) -> bool:
    """Print the tables and what the phases sum to; return whether that is the whole."""
    trainings: dict[tuple[int, str], _Phases] = {}
    for row in rows:
        trainings.setdefault((row.agents, row.variant), {})[row.phase] = row
    every = list(trainings.values())
    for start in range(0, len(every), _COLUMNS):
        _print(every[start : start + _COLUMNS], every)
    sums = [sum(each[phase].cpu_ms for phase in PHASES) / each[WHOLE].cpu_ms for each in every]
    complete = all(abs(share - 1) <= _MOST_MISSING for share in sums)
    print_lines(
        f"phases sum to {100 * min(sums):.1f} to {100 * max(sums):.1f} % of the CPU time: "
        f"{'within' if complete else 'NOT within'} {100 * _MOST_MISSING:.0f} %"
    )
    return complete


def _print(trainings: Sequence[_Phases], every: Sequence[_Phases]) -> None:
    wholes = [each[WHOLE] for each in trainings]
    one = wholes[0]
    first = {each[WHOLE].agents: each[WHOLE].cpu_ms for each in reversed(every)}
    print_lines(
        f"{one.learner}, {one.entries:,} entries, batches of {one.batch:,}: CPU ms of a round"
    )
    Table(
        "",
        ("agents",),
        [f"{each.agents}\n{each.variant.translate(_FOLDS)}" for each in wholes],
        [
            *((phase, *(_part(each, phase) for each in trainings)) for phase in PHASES),
            (WHOLE, *(_ms(each.cpu_ms) for each in wholes)),
            ("wall time", *(_ms(each.wall_ms) for each in wholes)),
            ("times faster", *(f"{first[each.agents] / each.cpu_ms:.2f}" for each in wholes)),
            *(
                (f"{phase} ({share})", *(_part_of_update(each, phase) for each in trainings))
                for phase, share in UPDATE.items()
            ),
        ],
    ).print()
    print_lines(f"means of {one.rounds - 1} rounds; times faster than the first of as many agents")
    print_lines("last four: % of their sum (and in Figure 4 of Gogineni et al.)", "")


def _part(training: _Phases, phase: str) -> str:
    milliseconds = training[phase].cpu_ms
    return f"{_ms(milliseconds)} {100 * milliseconds / training[WHOLE].cpu_ms:2.0f}%"


def _part_of_update(training: _Phases, phase: str) -> str:
    return f"{100 * training[phase].cpu_ms / sum(training[each].cpu_ms for each in UPDATE):.0f}"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.{0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2}f}"
