"""Pictures of a comparison: convergence on every problem, and performance profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.shell.files import distinct_name
from experiments.shown.plots import GREY, STYLES, in_picture, new_figure, save, tidy
from experiments.shown.statistics import Floats, bootstrap_interval, iqm
from experiments.study.standings import Contest, profiles
from experiments.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More lines than these hide each other.
_FEW_SEARCHES = 20
_SIZE = (8, 5)
_GRID = 100
_PROFILE_TO = 10.0
_PROFILE_POINTS = 200
_LABEL_WIDTH = 28
_TITLE_WIDTH = 60
_BROKEN: tuple[Any, ...] = ((0, (4, 3)), (0, (1, 2)))


def draw(study: Study, contests: Sequence[Contest], directory: Path) -> Iterator[Path]:
    """Draw everything that searches are there for; yield the PNG files."""
    for contest in contests:
        if any(contest.searches.values()):
            names = map(distinct_name, (contest.layer, contest.objective))
            png = directory / f"convergence-{'-'.join(names)}.png"
            draw_convergence(study, contest, png)
            yield png
    path = directory / "profile.png"
    _draw_profile(study, contests, path)
    yield path


def draw_convergence(study: Study, contest: Contest, png: Path) -> None:
    """Draw the best so far of every mapper on a problem, to a PNG file and an SVG file."""
    figure = new_figure(_SIZE)
    axes = figure.subplots()
    samples, goal = study.config.samples, contest.goal
    grid = np.unique(np.geomspace(1, samples, _GRID).astype(int))
    few = sum(map(len, contest.searches.values())) <= _FEW_SEARCHES
    for (mapper, found), (colour, line) in zip(contest.searches.items(), cycle(STYLES)):
        style = {"color": colour, "linestyle": line}
        if found:
            _draw_curves(axes, mapper, grid, contest.bests(mapper, grid), style, each=few)
    limits = _limits(contest)
    for (label, value), line in zip(limits.items(), _BROKEN, strict=False):
        axes.axhline(value, color=GREY, linestyle=line, linewidth=1.2, label=label)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="samples",
        ylabel=f"best {contest.objective} so far ({goal.objective.unit})",
        xlim=(1, max(2, samples)),
    )
    layer = goal.problem.layer
    # Names of files make it long, which would leave the axes no room.
    name = contest.layer
    name = name if len(name) <= _TITLE_WIDTH else f"...{name[-_TITLE_WIDTH:]}"
    title = f"{name} on {goal.problem.hardware.name}: {contest.objective}"
    _finish(axes, title, f"{layer.operator} {layer.dimensions}, {_facts(study)}")
    if not np.isfinite(contest.best_found):
        axes.text(0.5, 0.5, "no valid mapping", transform=axes.transAxes, ha="center")
        # Without a number there is no logarithmic scale.
        axes.set_yscale("log" if limits else "linear")
    save(figure, png)


def _limits(contest: Contest) -> dict[str, float]:
    """Return what limits the best of all mappings, by the names of lines."""
    optimum, lower_bound = contest.optimum, contest.goal.lower_bound
    if optimum is None:
        return {} if lower_bound is None else {"lower bound": lower_bound}
    if optimum.proven:
        return {"optimum (proven)": optimum.value}
    return {"optimum is at least": optimum.bound, "optimum is at most": optimum.value}


def _draw_profile(study: Study, contests: Sequence[Contest], png: Path) -> None:
    figure = new_figure(_SIZE)
    axes = figure.subplots()
    limits = np.geomspace(1, _PROFILE_TO, _PROFILE_POINTS)
    made = profiles(contests, study.config.samples, limits)
    for mapper, (colour, line) in zip(study.mappers, cycle(STYLES)):
        if mapper not in made:
            continue
        share, low, high = made[mapper]
        style: dict[str, Any] = {"color": colour, "linestyle": line, "drawstyle": "steps-post"}
        axes.plot(limits, share, linewidth=2, label=in_picture(mapper), **style)
        if not np.isnan(low).any():
            axes.fill_between(limits, low, high, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.set(
        xscale="log",
        xlabel="multiple of the best known (the optimum where it is proven)",
        ylabel="share of searches that end within it",
        xlim=(1, _PROFILE_TO),
        ylim=(0, 1),
    )
    _finish(axes, f"Performance profile over {len(contests)} problems", _facts(study))
    save(figure, png)


def _draw_curves(
    axes: Axes,
    mapper: str,
    grid: NDArray[np.int64],
    curves: Floats,
    style: dict[str, Any],
    each: bool,
) -> None:
    """Draw a mapper's best so far, float64[S, N]: interquartile mean and interval, or all curves.

    Values are infinite before the first valid mapping.
    """
    style = {**style, "drawstyle": "steps-post"}
    axes.plot(grid, _finite(iqm(curves)), label=in_picture(mapper), linewidth=2, **style)
    if each and len(curves) > 1:
        axes.plot(grid, _finite(curves).T, linewidth=0.6, alpha=0.5, **style)
    found = np.isfinite(curves).all(axis=0)
    if len(curves) > 1 and found.any():
        low, high = bootstrap_interval(curves[:, found])
        shade = {"color": style["color"], "alpha": 0.2, "linewidth": 0}
        axes.fill_between(grid[found], low, high, step="post", **shade)


def _finish(axes: Axes, title: str, facts: str) -> None:
    """Add the title, a line of facts below it, and the legend beside the axes."""
    axes.set_title(in_picture(title), loc="left", fontweight="bold", pad=22)
    line = axes.annotate(
        in_picture(facts),
        (0, 1),
        xytext=(0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        color=GREY,
        fontsize=9,
    )
    # Names of files make it long, which would leave the axes no room.
    line.set_in_layout(False)
    tidy(axes)
    if axes.lines:
        handles, names = axes.get_legend_handles_labels()
        # Settings make names long, which would leave the axes no room.
        labels = ["\n".join(wrap(name, _LABEL_WIDTH)) for name in names]
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        axes.legend(handles, labels, frameon=False, labelcolor=GREY, **beside)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _facts(study: Study) -> str:
    config, seeds = study.config, len(study.seeds)
    several = f", 95 % bootstrap interval of {seeds} seeds" if seeds > 1 else ""
    return f"model {config.model}, {config.samples:,} samples a search{several}"
