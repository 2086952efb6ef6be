"""Pictures of a comparison: convergence on every problem, and performance profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.experiments.shell.files import distinct_name
from maestro_env.experiments.shown.plots import (
    GREY,
    STYLES,
    in_picture,
    new_figure,
    plot,
    scale_y,
    tidy,
)
from maestro_env.experiments.shown.statistics import Floats, bootstrap_interval, has_interval, iqm
from maestro_env.experiments.study.standings import Contest, over_time, profiles
from maestro_env.experiments.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More lines than these, with that of the optimum, hide each other.
_LINES = 7
_SIZE = (8, 5)
_TALL = (8, 8)
# Per cent below which regrets are drawn on a linear scale, as 0 has no logarithm.
_SMALL_REGRET = 0.1
# Of a panel.
_LABEL_HEIGHT = 0.065
_GRID = 100
# Where seconds begin, on a logarithmic scale.
_FIRST_SECOND = 1e-3
_PROFILE_TO = 10.0
_PROFILE_POINTS = 200
_LABEL_WIDTH = 28
_TITLE_WIDTH = 60
_BROKEN: tuple[Any, ...] = ((0, (4, 3)), (0, (1, 2)))


def draw(study: Study, contests: Sequence[Contest], directory: Path) -> None:
    """Draw everything that searches are there for to PNG files.

    Of several problems that is also how near mappers come within how many seconds.
    """
    pictures: dict[str, Callable[[], Figure]] = {}
    for contest in contests:
        if any(contest.searches.values()):
            names = map(distinct_name, (contest.layer, contest.objective))
            name = f"convergence-{'-'.join(names)}.png"
            pictures[name] = partial(draw_convergence, study, contest)
    pictures["profile.png"] = partial(_draw_profile, study, contests)
    ends = [search.seconds for each in contests for of in each.searches.values() for search in of]
    if len(contests) > 1 and ends:
        seconds = np.geomspace(_FIRST_SECOND, max(ends), _GRID)
        pictures["seconds.png"] = partial(_draw_over_time, study, contests, seconds)
    for name, picture in pictures.items():
        plot(directory / name, picture, study.config.svg, directory)


def draw_convergence(study: Study, contest: Contest) -> Figure:
    """Draw the best so far of the best mappers on a problem.

    Where the optimum is known, a second panel has the regret: how far above it they are.
    """
    goal, optimum = contest.goal, contest.optimum
    samples = study.config.samples
    grid = np.unique(np.geomspace(1, samples, _GRID).astype(int))
    curves = {
        mapper: contest.bests(mapper, grid) for mapper, found in contest.searches.items() if found
    }
    ordered = sorted(curves, key=lambda mapper: float(iqm(curves[mapper])[-1]))[:_LINES]
    figure = new_figure(_SIZE if optimum is None else _TALL)
    panels = figure.subplots(1 if optimum is None else 2, sharex=True, squeeze=False)[:, 0]
    styles = [{"color": colour, "linestyle": line} for colour, line in STYLES]
    for axes, base in zip(panels, (None, optimum), strict=False):
        ends = {}
        for mapper, style in zip(ordered, styles, strict=False):
            shown = curves[mapper] if base is None else 100 * (curves[mapper] / base.bound - 1)
            _draw_curves(axes, grid, shown, style)
            ends[mapper] = float(_finite(iqm(shown))[-1]), style["color"]
        if base is None:
            for (label, value), line in zip(_limits(contest).items(), _BROKEN, strict=False):
                axes.axhline(value, color=GREY, linestyle=line, linewidth=1.2)
                ends[label] = value, GREY
        tidy(axes)
        axes.set(xscale="log", xlim=(1, max(2, samples)))
        if base is None:
            # Without a number there is no logarithmic scale.
            any_number = any(np.isfinite(end) for end, _ in ends.values())
            if any_number:
                scale_y(axes)
            axes.set_ylabel(f"least {goal.objective.label} so far\n({goal.objective.unit})")
        else:
            axes.set_yscale("symlog", linthresh=_SMALL_REGRET)
            axes.yaxis.set_major_formatter("{x:g}")
            axes.set(ylabel="above the optimum (%)", ylim=(0, None))
        _label_ends(axes, ends)
    panels[-1].set_xlabel("samples")
    layer = goal.problem.layer
    # Names of files make it long, which would leave the axes no room.
    name = contest.layer
    name = name if len(name) <= _TITLE_WIDTH else f"...{name[-_TITLE_WIDTH:]}"
    title = f"{name} on {goal.problem.hardware.name}: {goal.objective.label}"
    left_out = len(curves) - len(ordered)
    others = f"best {len(ordered)} of {len(curves)} mappers, " if left_out else ""
    _title(panels[0], title, f"{others}{layer.operator} {layer.dimensions}, {_facts(study)}")
    if not np.isfinite(contest.best_found):
        panels[0].text(0.5, 0.5, "no valid mapping", transform=panels[0].transAxes, ha="center")
    return figure


def _label_ends(axes: Axes, ends: Mapping[str, tuple[float, str]]) -> None:
    """Write names at the right ends of lines, in the order of their ends, none over another.

    ``ends`` has the last value and the colour of every line; one without a number has no label.
    """
    known = {name: each for name, each in ends.items() if np.isfinite(each[0])}
    low, high = (axes.transData.transform((1, limit))[1] for limit in axes.get_ylim())
    heights = {
        name: (axes.transData.transform((1, value))[1] - low) / (high - low)
        for name, (value, _) in known.items()
    }
    ordered = sorted(heights, key=lambda name: (heights[name], -list(known).index(name)))
    at: list[float] = []
    for name in ordered:
        at.append(max(heights[name], at[-1] + _LABEL_HEIGHT if at else -np.inf))
    # A stack that would leave the panel is moved down.
    top = 1.0
    for place in reversed(range(len(at))):
        at[place] = min(at[place], top)
        top = at[place] - _LABEL_HEIGHT
    for name, free in zip(ordered, at, strict=True):
        label = in_picture(name if len(name) <= _LABEL_WIDTH else f"{name[:_LABEL_WIDTH]}...")
        of_panel: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
        axes.plot((1, 1.015), (heights[name], free), color="#BBBBBB", linewidth=0.6, **of_panel)
        axes.text(1.02, free, label, color=known[name][1], va="center", fontsize=9, **of_panel)


def _limits(contest: Contest) -> dict[str, float]:
    """Return what limits the best of all mappings, by the names of lines."""
    optimum, lower_bound = contest.optimum, contest.goal.lower_bound
    if optimum is None:
        return {} if lower_bound is None else {"lower bound": lower_bound}
    if optimum.proven:
        return {"optimum (proven)": optimum.value}
    return {"optimum is at least": optimum.bound, "optimum is at most": optimum.value}


def _draw_profile(study: Study, contests: Sequence[Contest]) -> Figure:
    figure = new_figure(_SIZE)
    axes = figure.subplots()
    limits = np.geomspace(1, _PROFILE_TO, _PROFILE_POINTS)
    made = profiles(contests, study.config.samples, limits)
    ordered = sorted(made, key=lambda mapper: -float(np.mean(made[mapper].figure)))[:_LINES]
    ends = {}
    for mapper, (colour, line) in zip(ordered, STYLES, strict=False):
        share, low, high = made[mapper]
        style: dict[str, Any] = {"color": colour, "linestyle": line, "drawstyle": "steps-post"}
        axes.plot(limits, share, linewidth=2, **style)
        if not np.isnan(low).any():
            axes.fill_between(limits, low, high, step="post", color=colour, alpha=0.15, linewidth=0)
        ends[mapper] = float(share[-1]), colour
    axes.set(
        xscale="log",
        xlabel="multiple of the best known (the optimum where it is proven)",
        ylabel="share of searches that end within it",
        xlim=(1, _PROFILE_TO),
        ylim=(0, 1),
    )
    tidy(axes)
    _label_ends(axes, ends)
    _title(axes, f"Performance profile over {len(contests)} problems", _facts(study))
    return figure


def _draw_over_time(study: Study, contests: Sequence[Contest], seconds: Floats) -> Figure:
    figure = new_figure(_SIZE)
    axes = figure.subplots()
    gaps = {
        mapper: _finite(100 * (each.figure - 1))
        for mapper, each in over_time(contests, seconds).items()
    }
    ordered = sorted(gaps, key=lambda mapper: np.nan_to_num(gaps[mapper], nan=np.inf).mean())
    ends = {}
    for mapper, (colour, line) in zip(ordered[:_LINES], STYLES, strict=False):
        style: dict[str, Any] = {"color": colour, "linestyle": line, "drawstyle": "steps-post"}
        axes.plot(seconds, gaps[mapper], linewidth=2, **style)
        ends[mapper] = float(gaps[mapper][-1]), colour
    axes.set(
        xscale="log",
        xlabel="seconds of a search",
        ylabel="above the best known (%)",
        xlim=(seconds[0], seconds[-1]),
    )
    axes.set_yscale("symlog", linthresh=_SMALL_REGRET)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0, None)
    tidy(axes)
    _label_ends(axes, ends)
    _title(axes, f"Geometric mean over {len(contests)} problems", _facts(study, interval=False))
    return figure


def _draw_curves(
    axes: Axes, grid: NDArray[np.int64], curves: Floats, style: Mapping[str, Any]
) -> None:
    """Draw the interquartile mean of float64[S, N], and its interval where there is one.

    Values are infinite before the first valid mapping.
    """
    axes.plot(grid, _finite(iqm(curves)), linewidth=2, drawstyle="steps-post", **style)
    found = np.isfinite(curves).all(axis=0)
    if has_interval([curves]) and found.any():
        low, high = bootstrap_interval(curves[:, found])
        shade = {"color": style["color"], "alpha": 0.2, "linewidth": 0}
        axes.fill_between(grid[found], low, high, step="post", **shade)


def _title(axes: Axes, title: str, facts: str) -> None:
    """Add the title, and a line of facts below it."""
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


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _facts(study: Study, interval: bool = True) -> str:
    config, seeds = study.config, len(study.seeds)
    many = "95 % bootstrap interval of " if interval else ""
    several = f", {many}{seeds} seeds" if seeds > 1 else ""
    return f"model {config.model}, {config.samples:,} samples a search{several}"
