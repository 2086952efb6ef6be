"""Pictures of a comparison: convergence on every problem, and performance profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments import cli
from experiments.files import distinct_name
from experiments.plots import STYLES, add_legend, draw_bound, draw_curves, save, set_title, tidy
from experiments.standings import Contest, profiles
from experiments.study import Study
from experiments.texts import in_picture

# More lines than these hide each other.
_FEW_SEARCHES = 20
_GRID = 100
_PROFILE_TO = 10.0
_PROFILE_POINTS = 200


def draw(study: Study, contests: Sequence[Contest], directory: Path) -> Iterator[Path]:
    """Draw everything that searches are there for; yield the PNG files."""
    for contest in contests:
        if any(contest.searches.values()):
            name = f"convergence-{distinct_name(contest.layer)}-{contest.objective}.png"
            with cli.deferred():
                draw_convergence(study, contest, directory / name)
            yield directory / name
    path = directory / "profile.png"
    with cli.deferred():
        save(_profile(study, contests), path)
    yield path


def draw_convergence(study: Study, contest: Contest, png: Path) -> None:
    """Draw the best so far of every mapper on a problem, to a PNG file and an SVG file beside it.

    Raises:
        RecordError: the files cannot be written.
    """
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    samples, goal = study.config.samples, contest.goal
    grid = np.unique(np.geomspace(1, samples, _GRID).astype(int))
    few = sum(map(len, contest.searches.values())) <= _FEW_SEARCHES
    for (mapper, found), style in zip(contest.searches.items(), cycle(STYLES)):
        if found:
            draw_curves(axes, mapper, grid, contest.bests(mapper, grid), *style, each=few)
    draw_bound(axes, goal.lower_bound)
    layer = goal.problem.layer
    title = f"{contest.layer} on {goal.problem.hardware.name}: {contest.objective}"
    set_title(axes, title, f"{layer.operator} {layer.dimensions}, {_facts(study)}")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="evaluations",
        ylabel=f"best {contest.objective} so far ({goal.objective.unit})",
    )
    axes.set_xlim(1, max(2, samples))
    if not np.isfinite(contest.best_known):
        axes.text(0.5, 0.5, "no valid mapping", transform=axes.transAxes, ha="center")
        # Without a number there is no logarithmic scale.
        axes.set_yscale("linear" if goal.lower_bound is None else "log")
    tidy(axes)
    add_legend(axes)
    save(figure, png)


def _profile(study: Study, contests: Sequence[Contest]) -> Figure:
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    limits = np.geomspace(1, _PROFILE_TO, _PROFILE_POINTS)
    made = profiles(contests, study.config.samples, limits)
    for mapper, (colour, line) in zip(study.mappers, cycle(STYLES)):
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
            label=in_picture(mapper),
        )
        if interval is not None:
            axes.fill_between(limits, *interval, step="post", color=colour, alpha=0.15, linewidth=0)
    set_title(axes, f"Performance profile over {len(contests)} problems", _facts(study))
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


def _facts(study: Study) -> str:
    config, seeds = study.config, len(study.seeds)
    several = f", 95 % bootstrap interval of {seeds} seeds" if seeds > 1 else ""
    return f"model {config.model}, {config.samples:,} samples a search{several}"
