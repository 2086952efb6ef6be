"""What policies return with few bits, on several tasks and from several seeds, and its tables.

A directory keeps a record of every training; they go seed by seed, so that a part of them treats
all tasks alike.

The loss is |return with few bits - with 32| / |return with 32 bits - of random actions|: means over
seeds above and below the line. The paper divides by the return itself, which is small by chance on
some tasks and negative on others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from maestro_env.base.checks import look_up
from maestro_env.experiments.papers.quantise.learners import (
    LEARNERS,
    RECIPES,
    learn,
    require_learners,
)
from maestro_env.experiments.papers.quantise.tasks import (
    RESETS,
    TASKS,
    calibrate,
    evaluate,
    random_return,
)
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.statistics import Estimate, Floats, estimate
from maestro_env.experiments.shown.tables import Table, with_interval
from maestro_env.experiments.store.records import Measured, Show
from maestro_env.experiments.store.running import run_setups

FLOAT = 32
"""Bits of a policy that is not quantised."""


@dataclass(frozen=True)
class Setup:
    """All that decides what is trained and evaluated.

    Args:
        task: one of ``TASKS``.
        learner: one of ``LEARNERS``.
        seed: of the training.
        steps: of the training.
        bits: with which the policy is evaluated, after it was trained with 32 bits.
        aware: bits of quantisation-aware training, with which alone the policy is evaluated; or 0.
        delay: the part of the training, from 0 to 1, that goes before it has so many bits.
        form: as of ``Precision``.
    """

    task: str
    learner: str
    seed: int
    steps: int
    bits: tuple[int, ...]
    aware: int
    delay: float
    form: str

    def __str__(self) -> str:
        how = f", trained with {self.aware} bits" if self.aware else ""
        return f"{self.learner} on {self.task}{how}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """What a training gave.

    Args:
        returns: mean return of the same 100 episodes, by bits.
        random: the same of random actions.
        states: that ranges of activations were recorded from.
        cpu_seconds: it took.
    """

    returns: dict[int, float]
    random: float
    states: int
    cpu_seconds: float


@dataclass(frozen=True)
class Training(Measured[Trained, Setup]):
    """A training as a directory keeps it."""

    NOUN, KEY, RESULT = "trainings", "trained", Trained

    @property
    def kind(self) -> tuple[str, str]:
        setup = self.setup
        how = f"{setup.aware}-bits" if setup.aware else "float"
        return f"{setup.task}-{setup.learner}", how

    def measure(self, show: Show) -> Trained:
        from maestro_env.mappers.papers.quantised.layers import Precision
        from maestro_env.mappers.parts.threads import one_thread

        setup, task, began = self.setup, TASKS[self.setup.task], time.process_time()
        precision, states = Precision(form=setup.form), setup.steps
        delayed = (math.ceil(setup.delay * setup.steps), setup.aware) if setup.aware else None
        act = learn(setup.task, setup.learner, setup.seed, setup.steps, show, precision, delayed)
        returns = {}
        with one_thread():
            if not setup.aware:
                precision.recording = True
                states = calibrate(task, act)
                precision.recording = False
            for bits in (setup.aware,) if setup.aware else (FLOAT, *setup.bits):
                precision.bits = None if bits == FLOAT else bits
                returns[bits] = evaluate(task, act)
        random, seconds = random_return(task), time.process_time() - began
        return Trained(returns, random, states, seconds)

    def read_figures(self, told: dict[str, Any]) -> Trained:
        # Names are texts in JSON.
        returns = {int(bits): float(mean) for bits, mean in told["returns"].items()}
        return Trained(**{**told, "returns": returns})


@dataclass(frozen=True)
class Sweep:
    """What is trained and evaluated: each of the tasks by those of the learners that it has.

    Args:
        aware: bits of quantisation-aware trainings.
        seeds: trainings of each kind.
        steps: the most of a training.
        others: as in ``Setup``.
    """

    tasks: Sequence[str]
    learners: Sequence[str]
    bits: Sequence[int]
    aware: Sequence[int]
    delay: float
    form: str
    seeds: int
    steps: int

    def setups(self) -> list[Setup]:
        """Return all trainings, seed by seed; those with few bits follow the others.

        Raises:
            UsageError, MissingExtraError, UnknownNameError: some cannot be.
        """
        for task in self.tasks:
            look_up("task", task, TASKS)
        for learner in self.learners:
            look_up("learner", learner, LEARNERS)
        pairs = [(t, a) for t, a in RECIPES if t in self.tasks and a in self.learners]
        if not pairs:
            known = ", ".join(f"{task} by {learner}" for task, learner in RECIPES)
            raise UsageError(f"--tasks and --learners: no task by its learner; allowed: {known}")
        require_learners()
        return [
            Setup(
                task,
                learner,
                seed,
                min(self.steps, RECIPES[task, learner].steps),
                tuple(self.bits),
                aware,
                self.delay,
                self.form,
            )
            for aware, seed, (task, learner) in product((0, *self.aware), range(self.seeds), pairs)
        ]


def conduct(sweep: Sweep, config: Any) -> int:
    """Train what is not there yet, print tables, and return the exit status."""
    return run_setups(
        "quantise",
        config,
        {name: getattr(sweep, name) for name in ("bits", "delay", "form", "steps")},
        ("torch", "stable-baselines3"),
        Training,
        sweep.setups(),
        lambda works: _report(sweep, works),
    )


def _report(sweep: Sweep, works: Sequence[Training]) -> None:
    found: Found = {}
    for work in works:
        if (trained := work.read()) is not None:
            key = work.setup.task, work.setup.learner, work.setup.aware
            found.setdefault(key, {})[work.setup.seed] = trained
    print_losses(found, sweep.bits)


Found = dict[tuple[str, str, int], dict[int, Trained]]
"""Trainings by task, learner and bits of the training or 0; by seed."""

MANY = 8
"""Bits with which policies are expected to lose little."""

CERTAIN = 2.0
"""Standard errors over seeds above random, from which on a task was learnt."""

_NOTE = (
    f"mean returns of {RESETS} episodes and over seeds, by bits\n"
    f"saturated: all returns with {MANY} bits or more are the largest one; not learnt: 32 bits\n"
    f"are less than {CERTAIN:g} standard errors over seeds above random. Neither counts below"
)
_OF_LOSSES = (
    "|return with few bits - with 32|, in % of what 32 bits return above random, with the 95 %\n"
    "interval over seeds"
)


def losses(returns: Floats) -> Floats:
    """Return losses in per cent, float64[..., B].

    Args:
        returns: float64[S, ..., 2 + B] by seed: of random actions, with 32 bits, with few bits.
    """
    random, full, few = returns[..., 0], returns[..., 1], returns[..., 2:]
    off = np.abs(few - full[..., np.newaxis]).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost: Floats = 100 * off / np.abs((full - random).mean(axis=0))[..., np.newaxis]
    return lost


def judged(task: str, returns: Floats) -> str:
    """Return why a task shows nothing; empty if it shows something.

    Args:
        task: one of ``TASKS``.
        returns: as above, of those numbers of bits that are ``MANY`` or more.
    """
    most = TASKS[task].most
    if most is not None and np.allclose(returns[:, 1:], most):
        return "saturated"
    above = returns[:, 1] - returns[:, 0]
    error = above.std(ddof=1) / np.sqrt(len(above)) if len(above) > 1 else 0.0
    return "not learnt" if above.mean() <= CERTAIN * error else ""


def print_losses(found: Found, bits: Sequence[int]) -> None:
    """Print a table of the tasks, one of their mean, and one of quantisation-aware training."""
    tasks = {
        key[:2]: np.array(
            [[each.random, *(each.returns[n] for n in (FLOAT, *bits))] for each in by_seed.values()]
        )
        for key, by_seed in found.items()
        if not key[2]
    }
    if not tasks:
        return
    many = [0, 1, *(at for at, n in enumerate(bits, 2) if n >= MANY)]
    shown = {key: judged(key[0], returns[:, many]) for key, returns in tasks.items()}
    _of_tasks(tasks, shown, bits).print()
    counted = {key: tasks[key] for key, why in shown.items() if not why}
    if counted:
        rows = [(*key, *_with_intervals([returns])) for key, returns in counted.items()]
        names = [f"{n} bits" for n in bits]
        Table("losses, %", ("task", "learner"), names, rows, _OF_LOSSES).print()
        _of_all(counted, bits).print()
    if any(key[2] for key in found):
        _of_aware(found).print()


def _of_tasks(
    tasks: Mapping[tuple[str, str], Floats],
    shown: Mapping[tuple[str, str], str],
    bits: Sequence[int],
) -> Table:
    rows = [
        (*key, len(returns), *(f"{mean:.2f}" for mean in returns.mean(axis=0)), shown[key])
        for key, returns in tasks.items()
    ]
    headers = ("seeds", "random", *(str(n) for n in (FLOAT, *bits)), "shows\nnothing")
    return Table("returns by bits", ("task", "learner"), headers, rows, _NOTE)


def _of_all(tasks: Mapping[tuple[str, str], Floats], bits: Sequence[int]) -> Table:
    lost = np.array([losses(returns) for returns in tasks.values()])
    names, worst = list(tasks), lost.argmax(axis=0)
    rows = [
        (n, mean, f"{lost[at, column]:.1f}", " by ".join(names[at]))
        for column, (n, mean, at) in enumerate(
            zip(bits, _with_intervals(list(tasks.values())), worst, strict=True)
        )
    ]
    headers = ("mean loss, %", "worst, %", "of")
    return Table(f"losses of {len(tasks)} tasks that show something", ("bits",), headers, rows)


def _with_intervals(tasks: Sequence[Floats]) -> list[str]:
    """Return the mean loss over tasks of each number of bits, and its interval."""

    def figure(strata: Sequence[Floats]) -> Floats:
        mean: Floats = np.mean([losses(each) for each in strata], axis=0)
        return mean

    each = map(Estimate, *estimate(tasks, figure))
    return [with_interval(loss, "{:.1f}".format) for loss in each]


def _of_aware(found: Found) -> Table:
    """Compare trainings with few bits with those of the same seeds that were quantised at last."""
    rows = []
    for (task, learner, bits), aware in found.items():
        after = found.get((task, learner, 0), {})
        seeds = sorted(aware.keys() & after.keys()) if bits else []
        if not seeds:
            continue
        pairs = [(after[seed], aware[seed]) for seed in seeds]
        means = np.mean(
            [
                (was.random, was.returns[FLOAT], was.returns[bits], now.returns[bits])
                for was, now in pairs
            ],
            axis=0,
        )
        shares = 100 * (means[2:] - means[0]) / (means[1] - means[0])
        texts = [*(f"{mean:.2f}" for mean in means), *(f"{share:.0f}" for share in shares)]
        rows.append((task, learner, bits, len(seeds), *texts))
    headers = ("seeds", "random", "32", "after", "aware", "after, %", "aware, %")
    note = (
        "after: quantised after the training; aware: in it. %: of what 32 bits return above random"
    )
    return Table("quantisation-aware training", ("task", "learner", "bits"), headers, rows, note)
