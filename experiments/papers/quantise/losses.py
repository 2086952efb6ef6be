"""What policies lose with few bits: the tables of ``maestro-env quantise sweep``.

The loss is |return with few bits - with 32| / |return with 32 bits - of random actions|: means over
seeds above and below the line. The paper divides by the return itself, which is small by chance on
some tasks and negative on others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from maestro_env.experiments.papers.quantise.tasks import RESETS, TASKS
from maestro_env.experiments.papers.quantise.training import FLOAT, Trained
from maestro_env.experiments.shown.statistics import Estimate, Floats, estimate
from maestro_env.experiments.shown.tables import Table, with_interval

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
