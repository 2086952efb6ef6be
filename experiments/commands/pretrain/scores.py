"""How far methods are from proven optima: figures over problems, and their intervals.

A problem's figure is the geometric mean over its seeds of value / optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.commands.pretrain.evaluate import Evaluation, checkpoints
from experiments.commands.pretrain.protocol import Held, Optimum
from experiments.shell.files import RecordError
from experiments.shown.statistics import Floats, iqm, stratified_interval

WORST = 1000.0
"""What a search counts as that is farther from the optimum, or has found no valid mapping."""

WITHIN = 1.05
_NEAR = 1 + 1e-12


def _share_within(ratios: Floats) -> Floats:
    share: Floats = np.mean(ratios <= WITHIN, axis=0)
    return share


def _mean(ratios: Floats) -> Floats:
    mean: Floats = np.exp(np.mean(np.log(ratios), axis=0))
    return mean


def _percentile(ratios: Floats) -> Floats:
    """Return the least value that nine tenths of the problems do not exceed."""
    rank = int(np.ceil(0.9 * len(ratios))) - 1
    least: Floats = np.partition(ratios, rank, axis=0)[rank]
    return least


def _largest(ratios: Floats) -> Floats:
    largest: Floats = ratios.max(axis=0)
    return largest


FIGURES: Mapping[str, Callable[[Floats], Floats]] = {
    "IQM": iqm,
    "geometric mean": _mean,
    "90th percentile": _percentile,
    "within 5 %": _share_within,
    "largest": _largest,
}
"""Figures over problems, from float64[P, ...] to float64[...], by name."""


@dataclass(frozen=True, eq=False)
class Scores:
    """How far a method is from the optima.

    Args:
        method: its text.
        seeds: of its searches.
        counts: numbers of samples, C.
        problems: the problems, P.
        ratios: float64[P, C], value / optimum after so many samples.
        valid: float64[P, C], share of valid ones among the samples spent.
    """

    method: str
    seeds: int
    counts: tuple[int, ...]
    problems: tuple[Held, ...]
    ratios: Floats
    valid: Floats

    def of(self, group: Callable[[Held], bool]) -> Scores:
        """Return those of a group of problems."""
        chosen = [index for index, held in enumerate(self.problems) if group(held)]
        problems = tuple(self.problems[index] for index in chosen)
        return Scores(
            self.method,
            self.seeds,
            self.counts,
            problems,
            self.ratios[chosen],
            self.valid[chosen],
        )

    def at(self, count: int) -> Floats:
        """Return the ratios after a number of samples, float64[P]."""
        column: Floats = self.ratios[:, self.counts.index(count)]
        return column


def scores_of(
    evaluations: Sequence[Evaluation],
    problems: Mapping[str, Sequence[Held]],
    optima: Mapping[str, Optimum],
) -> Scores:
    """Return the scores of one method: of every network, from every seed.

    Args:
        evaluations: of the method, with as many samples each.
        problems: by held network.
        optima: by the keys of the problems.

    Raises:
        RecordError: a value below the optimum.
    """
    counts = checkpoints(evaluations[0].samples)
    every: list[Held] = []
    ratios, valid = [], []
    for network, held in problems.items():
        of_it = [each for each in evaluations if each.network == network]
        logs = [[np.log(_ratios(each, one, optima[one.key])) for one in held] for each in of_it]
        shares = [[each.found[one.key].shares(counts) for one in held] for each in of_it]
        every += held
        ratios.append(np.exp(np.mean(logs, axis=0)))
        valid.append(np.mean(shares, axis=0))
    return Scores(
        evaluations[0].method,
        len({each.seed for each in evaluations}),
        counts,
        tuple(every),
        np.concatenate(ratios),
        np.concatenate(valid),
    )


def _ratios(each: Evaluation, held: Held, optimum: Optimum) -> Floats:
    values = each.found[held.key].values
    least = np.array([np.inf if value is None else value for value in values])
    ratios: Floats = least / optimum.bound
    if ratios.min() * _NEAR < 1:
        raise RecordError(
            f"{each.path}: {held.key} has {least.min():.6g}, below the optimum "
            f"{optimum.bound:.6g}; another version made one of them: use another --out"
        )
    return np.minimum(ratios, WORST)


def figures(ratios: Floats) -> tuple[Floats, Floats, Floats]:
    """Return all figures of float64[P, C] ratios, and the ends of their intervals over problems.

    All three are float64[F, C].
    """

    def every(strata: list[Floats]) -> Floats:
        (drawn,) = strata
        found = np.stack([figure(drawn) for figure in FIGURES.values()])
        # With resamples, they come first.
        return found if drawn.ndim == 2 else np.moveaxis(found, 1, 0)

    return every([ratios]), *stratified_interval([ratios], every)


def paired(one: Floats, other: Floats) -> tuple[float, float, float]:
    """Return the geometric mean of one / other over problems, float64[P] each, and its interval."""
    ratios = one / other
    low, high = stratified_interval([ratios], lambda strata: _mean(strata[0]))
    return float(_mean(ratios)), float(low), float(high)
