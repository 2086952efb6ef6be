"""Tables of scores: by group of problems, and one method against another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from experiments.commands.pretrain.protocol import Held, Optimum
from experiments.commands.pretrain.scores import FIGURES, WORST, Scores, figures, paired
from experiments.shell.files import write_csv
from experiments.shown.tables import Sheet

_HALF_WAY = 100
_TABLE = ("method", "network", "layer", "hardware", "objective", "samples", "ratio", "valid")


def groups_of(
    problems: Sequence[Held], optima: Mapping[str, Optimum]
) -> dict[str, Callable[[Held], bool]]:
    """Return the groups of the protocol: all, each accelerator, each objective, the hardest."""
    groups: dict[str, Callable[[Held], bool]] = {"all problems": lambda held: True}
    proven = [optima[held.key].proven for held in problems]
    if any(proven) and not all(proven):
        groups["proven optimum"] = lambda held: optima[held.key].proven
    for name in dict.fromkeys(held.machine for held in problems):
        groups[name] = lambda held, name=name: held.machine == name  # type: ignore[misc]
    for name in dict.fromkeys(held.objective for held in problems):
        groups[name] = lambda held, name=name: held.objective == name  # type: ignore[misc]
    if any(held.machine == "edge" for held in problems):
        groups["edge, edp"] = lambda held: (held.machine, held.objective) == ("edge", "edp")
    networks = dict.fromkeys(held.network for held in problems)
    for name in networks if len(networks) > 1 else ():
        groups[name] = lambda held, name=name: held.network == name  # type: ignore[misc]
    return groups


def score_sheets(every: Sequence[Scores], optima: Mapping[str, Optimum]) -> Iterator[Sheet]:
    """Yield a table of every group: value / optimum, with 95 % intervals over problems."""
    for name, group in groups_of(every[0].problems, optima).items():
        chosen = [scores.of(group) for scores in every]
        problems = chosen[0].problems
        rows = [row for scores in chosen for row in _rows(scores)]
        title = f"Value / optimum: {name}, {len(problems)} problems"
        headers = (*FIGURES, "valid")
        yield Sheet(title, ("method", "seeds", "samples"), headers, rows, _note(problems, optima))


def _rows(scores: Scores) -> Iterator[tuple[str, ...]]:
    found, low, high = figures(scores.ratios)
    for column, count in enumerate(scores.counts):
        cells = [
            _cell(name, *(each[row, column] for each in (found, low, high)))
            for row, name in enumerate(FIGURES)
        ]
        valid = f"{scores.valid[:, column].mean():.1%}"
        yield scores.method, str(scores.seeds), f"{count:,}", *cells, valid


def _cell(name: str, value: float, low: float, high: float) -> str:
    if name == "largest":
        # The resampled largest are never above it: they make no interval.
        return f"{value:.3f}"
    if name.startswith("within"):
        return f"{value:.0%} [{low:.0%}, {high:.0%}]"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _note(problems: Sequence[Held], optima: Mapping[str, Optimum]) -> str:
    unproven = sum(not optima[held.key].proven for held in problems)
    notes = [
        "brackets: 95 % intervals, bootstrap over problems",
        f"a search without a valid mapping counts as {WORST:,.0f}",
    ]
    if unproven:
        notes.append(f"{unproven} problems have no proven optimum: their lower bound stands for it")
    return "; ".join(notes)


def pair_sheet(first: Scores, others: Sequence[Scores]) -> Sheet:
    """Return the table of one method against others on the same problems: below 1 is better."""
    rows = []
    for other in others:
        counts = [(count, count) for count in first.counts if count in other.counts]
        if other.counts[-1] not in first.counts and _HALF_WAY in first.counts:
            counts.append((_HALF_WAY, other.counts[-1]))
        for one, against in counts:
            ratio, low, high = paired(first.at(one), other.at(against))
            cells = (f"{one:,}", f"{against:,}", f"{ratio:.3f}", f"[{low:.3f}, {high:.3f}]")
            rows.append((other.method, *cells))
    return Sheet(
        f"{first.method} / other method: geometric mean over problems",
        ("other method",),
        ("samples", "its samples", "ratio", "95 %"),
        rows,
    )


def write_problems(path: Path, every: Sequence[Scores]) -> None:
    """Write a row for every method, problem and number of samples."""
    write_csv(path, _TABLE, (row for scores in every for row in _problem_rows(scores)))


def _problem_rows(scores: Scores) -> Iterator[tuple[object, ...]]:
    for held, ratios, valid in zip(scores.problems, scores.ratios, scores.valid, strict=True):
        facts = (scores.method, held.network, held.cell.layer, held.machine, held.objective)
        for count, ratio, share in zip(scores.counts, ratios, valid, strict=True):
            yield *facts, count, f"{ratio:.6f}", f"{share:.4f}"
