"""Pictures of a comparison: convergence on every problem, and performance profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments import cli
from experiments.compare.config import Comparison
from experiments.files import distinct_name
from experiments.plots import STYLES, add_legend, draw_bound, draw_curves, save, set_title, tidy
from experiments.standings import Contest, profiles

_GRID = 100
_PROFILE_TO = 10.0
_PROFILE_POINTS = 200


def draw(comparison: Comparison, contests: Sequence[Contest], directory: Path) -> Iterator[Path]:
    """Draw everything that searches are there for; yield the PNG files."""
    for contest in contests:
        if any(contest.searches.values()):
            name = f"convergence-{distinct_name(contest.layer)}-{contest.objective}.png"
            with cli.deferred():
                save(_convergence(comparison, contest), directory / name)
            yield directory / name
    path = directory / "profile.png"
    with cli.deferred():
        save(_profile(comparison, contests), path)
    yield path


def _convergence(comparison: Comparison, contest: Contest) -> Figure:
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    samples = comparison.config.samples
    grid = np.unique(np.geomspace(1, samples, _GRID).astype(int))
    for (mapper, found), style in zip(contest.searches.items(), cycle(STYLES)):
        if found:
            draw_curves(axes, mapper, grid, contest.bests(mapper, grid), *style)
    objective, hardware = contest.goal.objective, contest.goal.problem.hardware.name
    draw_bound(axes, contest.goal.lower_bound)
    set_title(axes, f"{contest.layer} on {hardware}: {contest.objective}", _facts(comparison))
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="evaluations",
        ylabel=f"best {contest.objective} so far ({objective.unit})",
    )
    axes.set_xlim(1, max(2, samples))
    tidy(axes)
    add_legend(axes)
    return figure


def _profile(comparison: Comparison, contests: Sequence[Contest]) -> Figure:
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    limits = np.geomspace(1, _PROFILE_TO, _PROFILE_POINTS)
    made = profiles(contests, comparison.config.samples, limits)
    for mapper, (colour, line) in zip(comparison.mappers, cycle(STYLES)):
        if mapper not in made:
            continue
        share, interval = made[mapper]
        axes.plot(
            limits,
            share,
            drawstyle="steps-post",
            color=colour,
            linestyle=line,
            linewidth=2,
            label=mapper,
        )
        if interval is not None:
            axes.fill_between(limits, *interval, step="post", color=colour, alpha=0.15, linewidth=0)
    set_title(axes, f"Performance profile over {len(contests)} problems", _facts(comparison))
    axes.set(
        xscale="log",
        xlabel="multiple of the best known",
        ylabel="share of searches that end within it",
    )
    axes.set_xlim(1, _PROFILE_TO)
    axes.set_ylim(0, 1)
    tidy(axes)
    add_legend(axes)
    return figure


def _facts(comparison: Comparison) -> str:
    config, seeds = comparison.config, len(comparison.seeds)
    several = f", 95 % bootstrap interval of {seeds} seeds" if seeds > 1 else ""
    return f"model {config.model}, {config.samples:,} samples a search{several}"
