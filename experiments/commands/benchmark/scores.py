"""How far methods are from proven optima: figures over problems, intervals, and a picture.

A problem's figure is the geometric mean over its seeds of value / optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from maestro_env.experiments.commands.benchmark.methods import Evaluation, checkpoints
from maestro_env.experiments.problems.labels import Held, Problems
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shown import statistics as stats
from maestro_env.experiments.shown.plots import STYLES, in_picture, new_figure, tidy
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.shown.tables import Table
from maestro_env.mappers.parts.arrays import Booleans
from maestro_env.optimum.known import KnownOptimum

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WORST = 1000.0
"""What a search counts as that is farther from the optimum, or has found no valid mapping."""

_WITHIN = np.array([1.05])
_NEAR = 1 + 1e-12

FIGURES: Mapping[str, Callable[[Floats], Floats]] = {
    "IQM": stats.iqm,
    "geometric mean": stats.log_mean,
    "90th percentile": lambda ratios: stats.quantile(ratios, 0.9),
    "within 5 %": lambda ratios: stats.performance_profile([ratios], _WITHIN)[..., 0],
    "largest": lambda ratios: np.max(ratios, axis=0),
}
"""Figures over problems, from float64[P, ...] to float64[...], by name."""


@dataclass(frozen=True, eq=False)
class Scores:
    """How far a method is from the optima.

    Args:
        method: its name.
        seeds: of its searches.
        counts: numbers of samples, C.
        problems: the problems, P.
        searches: float64[S, P, C], value / optimum after so many samples, at most ``WORST``.
        valid: float64[P, C], share of valid ones among the samples spent; NaN if it is not known.
        seconds: that all took; NaN if it is not known.
    """

    method: str
    seeds: int
    counts: tuple[int, ...]
    problems: Sequence[Held]
    searches: Floats
    valid: Floats
    seconds: float

    @property
    def ratios(self) -> Floats:
        """The figure of every problem, float64[P, C]: geometric means over seeds."""
        return stats.log_mean(self.searches)

    def of(self, group: Booleans) -> Scores:
        """Return those of a group of problems, bool[P]."""
        return replace(
            self,
            problems=list(compress(self.problems, group)),
            searches=self.searches[:, group],
            valid=self.valid[group],
        )

    def at(self, count: int) -> Floats:
        """Return the ratios after a number of samples, float64[P]."""
        column: Floats = self.ratios[:, self.counts.index(count)]
        return column


def scores_of(
    method: str,
    evaluations: Iterable[Evaluation],
    problems: Problems,
    optima: Mapping[str, KnownOptimum],
) -> Scores | None:
    """Return the scores of a method, from the seeds that it has of every network, if any.

    Args:
        method: its name.
        evaluations: of it, with as many samples each.
        problems: by held network.
        optima: by the keys of the problems.

    Raises:
        RecordError: seeds of several numbers of samples, or a value below the optimum.
    """
    by_seed: dict[int, dict[str, Evaluation]] = {}
    for each in evaluations:
        by_seed.setdefault(each.seed, {})[each.network] = each
    complete = [found for found in by_seed.values() if found.keys() == problems.keys()]
    if not complete:
        return None
    _check_same_samples([each for found in complete for each in found.values()])
    every = [held for each in problems.values() for held in each]
    values = _joined([[found[name].values for name in problems] for found in complete])
    ratios = values / [[optima[held.key].bound] for held in every]
    for seed, number, count in np.argwhere(ratios * _NEAR < 1):
        held, value = every[number], values[seed, number, count]
        raise RecordError(
            f"{complete[seed][held.network].path}: {held.key} has {value:.6g}, below the optimum "
            f"{optima[held.key].bound:.6g}; another version made one of them: make the entry again"
        )
    return Scores(
        method,
        len(complete),
        checkpoints(next(iter(complete[0].values())).samples),
        every,
        np.clip(ratios, 1, WORST),
        _joined([[found[name].valid for name in problems] for found in complete]).mean(axis=0),
        sum(each.seconds for found in complete for each in found.values()),
    )


def _check_same_samples(evaluations: Sequence[Evaluation]) -> None:
    first, *others = evaluations
    for each in others:
        if each.samples != first.samples:
            raise RecordError(
                f"{each.path} has {each.samples} samples, {first.path} {first.samples}: "
                "give the same --samples, or use another --out"
            )


def _joined(arrays: Sequence[Sequence[Floats]]) -> Floats:
    """Join the problems of all networks, by seed: float64[S, P, C]."""
    return np.array([np.concatenate(of_seed) for of_seed in arrays])


def estimates(ratios: Floats) -> Floats:
    """Return all figures of float64[P, C] ratios, and the ends of their intervals over problems.

    They are float64[F, 3, C].
    """
    return np.array([_estimate(figure, ratios) for figure in FIGURES.values()])


def reached(scores: Scores, limits: Floats) -> Floats:
    """Return the shares of searches within each limit of the optimum, float64[C, L]."""
    return stats.performance_profile([*scores.searches.swapaxes(0, 1)], limits * _NEAR)


def ranks(every: Sequence[Scores], count: int) -> list[tuple[float, float, float]]:
    """Return the mean rank of each method over problems, after a number of samples, and its ends.

    Methods that are equal on a problem share the mean of their ranks.
    """
    places = rankdata([scores.at(count) for scores in every], axis=0)

    def mean(drawn: Floats) -> Floats:
        found: Floats = np.mean(drawn, axis=0)
        return found

    found = [(mean(each), *stats.bootstrap_interval(each, figure=mean)) for each in places]
    return [(float(rank), float(low), float(high)) for rank, low, high in found]


def paired(one: Floats, other: Floats) -> tuple[float, float, float]:
    """Return the geometric mean of one / other over problems, float64[P] each, and its interval."""
    mean, low, high = map(float, _estimate(stats.log_mean, one / other))
    return mean, low, high


def _estimate(figure: Callable[[Floats], Floats], ratios: Floats) -> tuple[Floats, Floats, Floats]:
    return figure(ratios), *stats.bootstrap_interval(ratios, figure=figure)


OptimaByProblem = Mapping[str, KnownOptimum]

LIMITS = np.array([1.00, 1.01, 1.05, 1.2])
"""Multiples of the optimum that searches are to come within."""

_HALF_WAY = 100
TABLE = ("method", "network", "layer", "hardware", "objective", "samples", "ratio", "valid")


def proofs(problems: Problems, optima: OptimaByProblem) -> Table:
    """Return how long the proofs took that the scores stand on."""
    headers = ("problems", "proven", "median s", "within 1 s", "within 60 s")
    rows = []
    for network, each in problems.items():
        found = [optima[held.key] for held in each]
        seconds = np.array([one.seconds if one.proven else np.inf for one in found])
        shares = [f"{(seconds <= most).mean():.1%}" for most in (1, 60)]
        proven = str(np.isfinite(seconds).sum())
        rows.append((network, str(len(found)), proven, f"{np.median(seconds):.3g}", *shares))
    return Table("Proofs", ("network",), headers, rows, "as long as each took where it was made")


def groups_of(problems: Sequence[Held], optima: OptimaByProblem) -> dict[str, Booleans]:
    """Return the groups of the protocol, bool[P] each, by name.

    They are all problems, those of each accelerator and objective, the hardest, of each network.
    """

    def by(attribute: str) -> dict[str, Booleans]:
        names = np.array([getattr(held, attribute) for held in problems], dtype=object)
        return {name: names == name for name in dict.fromkeys(names)}

    groups = {"all problems": np.full(len(problems), True)}
    proven = np.array([optima[held.key].proven for held in problems])
    if proven.any() and not proven.all():
        groups["proven optimum"] = proven
    groups |= by("machine") | by("objective")
    if {"edge", "edp"} <= groups.keys():
        groups["edge, edp"] = groups["edge"] & groups["edp"]
    networks = by("network")
    return groups | networks if len(networks) > 1 else groups


def score_tables(every: Sequence[Scores], optima: OptimaByProblem) -> Iterator[Table]:
    """Yield a table of every group: value / optimum, with 95 % intervals over problems."""
    for name, group in groups_of(every[0].problems, optima).items():
        chosen = [scores.of(group) for scores in every]
        problems = chosen[0].problems
        rows = [row for scores in chosen for row in _rows(scores)]
        title = f"Value / optimum: {name}, {len(problems)} problems"
        headers = (*FIGURES, "valid")
        yield Table(title, ("method", "seeds", "samples"), headers, rows, _note(problems, optima))


def _rows(scores: Scores) -> Iterator[tuple[str, ...]]:
    found, known = estimates(scores.ratios), np.isfinite(scores.valid).all()
    for column, count in enumerate(scores.counts):
        cells = [_cell(name, *each[:, column]) for name, each in zip(FIGURES, found, strict=True)]
        valid = f"{scores.valid[:, column].mean():.1%}" if known else "-"
        yield scores.method, str(scores.seeds), f"{count:,}", *cells, valid


def _cell(name: str, value: float, low: float, high: float) -> str:
    if name == "largest":
        # The resampled largest are never above it: they make no interval.
        return f"{value:.3f}"
    if name.startswith("within"):
        return f"{value:.0%} [{low:.0%}, {high:.0%}]"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _note(problems: Sequence[Held], optima: OptimaByProblem) -> str:
    unproven = sum(not optima[held.key].proven for held in problems)
    notes = [
        "brackets: 95 % intervals, bootstrap over problems",
        f"a search without a valid mapping counts as {WORST:,.0f}",
    ]
    if unproven:
        notes.append(f"{unproven} problems have no proven optimum: their lower bound stands for it")
    return "; ".join(notes)


def pairs(every: Sequence[Scores]) -> Iterator[Table]:
    """Yield the comparison of the first method with all others: below 1 is better."""
    first, *others = every
    if others:
        yield Table(
            f"{first.method} / other method: geometric mean over problems",
            ("other method",),
            ("samples", "its samples", "ratio", "95 %"),
            [row for other in others for row in _pair_rows(first, other)],
        )


def reached_table(every: Sequence[Scores]) -> Table:
    """Return how many searches came how near the optimum, after so many samples."""
    rows = [
        (scores.method, f"{count:,}", *(f"{share:.0%}" for share in shares))
        for scores in every
        for count, shares in zip(scores.counts, reached(scores, LIMITS), strict=True)
    ]
    headers = [f"{limit:.2f}" for limit in LIMITS]
    title = "Searches within these multiples of the optimum"
    return Table(title, ("method", "samples"), headers, rows, "empirical distribution (ECDF)")


def standings(every: Sequence[Scores], kind: str) -> Table:
    """Return how methods stand, the best first: a row of each."""
    common = max(set.intersection(*(set(scores.counts) for scores in every)))
    counts = sorted({count for scores in every for count in scores.counts})
    found = sorted(zip(ranks(every, common), every, strict=True), key=lambda each: each[0])
    rows = [
        (
            scores.method,
            str(scores.seeds),
            f"{mean:.2f} [{low:.2f}, {high:.2f}]" if len(every) > 1 else "-",
            *(_mean(scores, count) for count in counts),
            _seconds(scores),
        )
        for (mean, low, high), scores in found
    ]
    headers = ("seeds", "rank", *(f"{count:,}" for count in counts), "seconds")
    shortest = [scores.method for scores in every if scores.counts[-1] == common < counts[-1]]
    ending = f", where {', '.join(shortest)} end{'' if shortest[1:] else 's'}" if shortest else ""
    rank = f"rank after {common:,}{ending}: mean and 95 % interval over them; "
    note = (
        f"value / optimum after so many samples, geometric means over {len(every[0].problems)} "
        f"problems; {rank if len(every) > 1 else ''}seconds of a search"
    )
    return Table(f"Standings ({kind})", ("method",), headers, rows, note)


def _mean(scores: Scores, count: int) -> str:
    if count not in scores.counts:
        return "-"
    return f"{FIGURES['geometric mean'](scores.at(count)):.4g}"


def _seconds(scores: Scores) -> str:
    """Return how long a search took, if that is known."""
    seconds = scores.seconds / (scores.seeds * len(scores.problems))
    return f"{seconds:.3g}" if np.isfinite(seconds) else "-"


def _pair_rows(first: Scores, other: Scores) -> Iterator[tuple[str, ...]]:
    counts = [(count, count) for count in first.counts if count in other.counts]
    if other.counts[-1] not in first.counts and _HALF_WAY in first.counts:
        counts.append((_HALF_WAY, other.counts[-1]))
    for one, against in counts:
        ratio, low, high = paired(first.at(one), other.at(against))
        yield other.method, f"{one:,}", f"{against:,}", f"{ratio:.3f}", f"[{low:.3f}, {high:.3f}]"


def problem_rows(every: Sequence[Scores]) -> Iterator[tuple[object, ...]]:
    """Yield a row for every method, problem and number of samples."""
    for scores in every:
        for held, ratios, valid in zip(scores.problems, scores.ratios, scores.valid, strict=True):
            facts = (scores.method, held.network, held.layer, held.machine, held.objective)
            for count, ratio, share in zip(scores.counts, ratios, valid, strict=True):
                yield *facts, count, f"{ratio:.6f}", f"{share:.4f}"


_MOST_LINES = len(STYLES)


def draw_reached(every: Sequence[Scores]) -> Figure:
    """Draw the share of searches and limits that were reached, mean over all.

    It is the empirical distribution of COCO: a line is the mean over the limits of the table.
    """
    curves = {each.method: (each.counts, reached(each, LIMITS).mean(axis=1)) for each in every}
    # The best stand first, as far as lines can be told apart.
    ordered = sorted(curves, key=lambda method: -float(np.mean(curves[method][1])))[:_MOST_LINES]
    figure = new_figure((9, 5))
    axes = figure.subplots()
    for method, (colour, line) in zip(ordered, STYLES, strict=False):
        counts, shares = curves[method]
        axes.step(
            *(counts, shares),
            where="post",
            color=colour,
            linestyle=line,
            label=in_picture(method),
        )
    tidy(axes)
    limits = ", ".join(f"{limit:.2f}" for limit in LIMITS)
    axes.set(
        xscale="log",
        ylim=(0, 1.02),
        xlabel="samples",
        ylabel=f"searches within {limits}\ntimes the optimum, mean of the four",
    )
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure
