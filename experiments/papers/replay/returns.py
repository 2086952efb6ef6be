"""What trainings returned, by sampler: the table of ``maestro-env replay train``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from maestro_env.experiments.papers.replay.training import LAST, Trained
from maestro_env.experiments.shown.statistics import Floats, has_interval, stratified_interval
from maestro_env.experiments.shown.tables import Table, significant

CERTAIN = 5.0
"""Standard errors above random from which agents have learnt."""

WIDEST = 20.0
"""Per cent: a wider interval decides nothing."""

Key = tuple[int, str, int]
"""Agents, sampler and batch."""


_KINDS = ("observations", "rewards")
_RETURNS = ("seeds", "random", "half", "last", "SE above\nrandom")
_NOTE = (
    f"mean returns of {LAST:,} episodes: of random agents, to half of the training, to its "
    f"end; SE: standard errors over seeds; from {CERTAIN:g} on they have learnt"
)
_DIFFERENCES = ("to the first, %", "rows\nseen", "rows\npaid", "CPU\nmin")
_NOTE_OF_DIFFERENCES = (
    "to the first: in % of what it returned above random, with the 95 % interval over "
    f"seeds; one wider than {WIDEST:g} does not decide the size, nor does a first that has "
    "not learnt; rows: independent ones whose mean observation or reward varies as that "
    "of a batch, in replay of random agents"
)


def standard_errors(trained: Floats, random: Floats) -> float | None:
    """Return how many standard errors the mean of returns is above that of random agents.

    Args:
        trained: float64[S], of S seeds.
        random: float64[S], of the same seeds.

    Returns:
        None for one seed; infinite where all seeds have the same difference.
    """
    above = trained - random
    if len(above) < 2:
        return None
    error = above.std(ddof=1) / math.sqrt(len(above))
    return float(above.mean() / error) if error else math.copysign(math.inf, above.mean())


def difference(first: Floats, other: Floats, random: Floats) -> tuple[float, float, float] | None:
    """Return a difference in per cent of what the first returned above random, and its interval.

    Args:
        first: float64[S], returns with the first sampler, by seed.
        other: float64[T], with another one.
        random: float64[U], of random agents.

    Returns:
        The difference of the means, and both ends of its 95 % bootstrap interval over seeds; None
        where a seed is all there is.
    """
    strata = [first, other, random]

    def figure(drawn: Sequence[Floats]) -> Floats:
        base, changed, zero = (each.mean(axis=0) for each in drawn)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: Floats = 100 * (changed - base) / (base - zero)
        return shares

    if not has_interval(strata):
        return None
    low, high = stratified_interval(strata, figure)
    return float(figure(strata)), float(low), float(high)


def tables(title: str, found: Mapping[Key, Sequence[Trained]]) -> tuple[Table, Table]:
    """Return the tables; differences are to the first sampler of as many agents."""
    firsts: dict[int, Sequence[Trained]] = {}
    returns, differences = [], []
    for (agents, sampler, batch), trained in found.items():
        first = firsts.setdefault(agents, trained)
        last, half, random = (_each(trained, name) for name in ("last", "half", "random"))
        worth = [each.worth for each in trained]
        who = agents, f"{sampler}:{batch}"
        means = (f"{each.mean():.2f}" for each in (random, half, last))
        returns.append((*who, len(trained), *means, _above(standard_errors(last, random))))
        differences.append(
            (
                *who,
                "-" if trained is first else _compared(first, last, random),
                *(f"{np.mean([getattr(w, of) for w in worth]):,.0f}" for of in _KINDS),
                significant(_each(trained, "cpu_seconds").mean() / 60, 3),
            )
        )
    keys = "agents", "sampler"
    return (
        Table(title, keys, _RETURNS, returns, _NOTE),
        Table("", keys, _DIFFERENCES, differences, _NOTE_OF_DIFFERENCES),
    )


def _each(trained: Sequence[Trained], name: str) -> Floats:
    return np.array([getattr(each, name) for each in trained])


def _above(errors: float | None) -> str:
    if errors is None:
        return "-"
    return f"{errors:.1f}" if errors >= CERTAIN else f"no, {errors:.1f}"


def _compared(first: Sequence[Trained], last: Floats, random: Floats) -> str:
    base = _each(first, "last")
    compared = difference(base, last, random)
    if compared is None:
        return "-"
    value, low, high = compared
    ends = f"({low:.0f} to {high:.0f})"
    learnt = standard_errors(base, _each(first, "random"))
    # An end that is no number decides nothing either.
    decided = learnt is not None and learnt >= CERTAIN and high - low <= WIDEST
    return f"{value:.1f} {ends}" if decided else f"not decided {ends}"
