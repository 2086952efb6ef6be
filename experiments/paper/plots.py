"""The pictures of Fig. 5, 6 and 7, drawn from result files into PNG and SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.paper.frame import Rows, grouped, unique
from experiments.paper.ratios import RatioRow
from experiments.plots import GREY, STYLES, save, tidy
from experiments.stats import Floats

_MARKERS = "osD^"
# Of the width between two numbers of agents, what the points of one take up.
_WIDTH = 0.5
Place = Literal["outside lower center", "outside upper center"]
_MEAN, _SPREAD = "mean_", "spread_"


def draw_returns(rows: Rows, warm_ups: Mapping[str, int], path: Path) -> None:
    """Draw the mean return against samples, a panel a problem.

    Args:
        rows: of the mean, least and greatest return of each mapper's searches in each window.
        warm_ups: samples that mappers spent before; their curves are drawn again behind these.
        path: of the PNG file.
    """
    layers, objectives = (unique(row[key] for row in rows) for key in ("layer", "objective"))
    colours = dict(zip(unique(row["mapper"] for row in rows), cycle(STYLES)))
    figure = Figure(figsize=(4 * len(objectives), 3.2 * len(layers)), layout="constrained")
    panels = figure.subplots(len(layers), len(objectives), squeeze=False)
    for (layer, objective, mapper), curve in grouped(rows, "layer", "objective", "mapper"):
        axes = panels[layers.index(layer), objectives.index(objective)]
        colour = colours[mapper][0]
        samples, low, mean, high = _columns(curve, "samples", "low", "mean", "high")
        axes.plot(samples, mean, color=colour, label=mapper)
        axes.fill_between(samples, low, high, color=colour, alpha=0.15, linewidth=0)
        if warm_up := warm_ups.get(mapper, 0):
            label = f"{mapper}, warm-up counted"
            axes.plot(samples + warm_up, mean, color=colour, linestyle=":", label=label)
        _title(axes, f"{layer}: {objective}")
        axes.set(xscale="log", xlabel="samples", ylabel="mean return")
    _add_legend(figure)
    save(figure, path)


def draw_costs(
    lines: Mapping[tuple[str, int], Sequence[RatioRow]], parameters: int, path: Path
) -> None:
    """Draw the cost against the number of agents, a line a grouping.

    Args:
        lines: costs in multiples of those of one agent per parameter, by grouping and agents.
        parameters: how many agents that is.
        path: of the PNG file.
    """
    # Every second number of samples: few panels are large enough to read.
    shown = sorted({row.samples for rows in lines.values() for row in rows})[::2]
    agents = sorted({number for _, number in lines})
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    for axes, samples in zip(_panels(figure, len(shown)), shown, strict=False):
        here: dict[str, dict[int, RatioRow]] = {}
        for (grouping, number), rows in lines.items():
            line = here.setdefault(grouping, {})
            line.update((number, row) for row in rows if row.samples == samples)
        ungrouped = here.pop("", {})
        axes.axhline(1, color=GREY, linewidth=1)
        shifts = np.linspace(-_WIDTH / 2, _WIDTH / 2, len(here))
        for (grouping, line), shift, (colour, _), marker in zip(
            here.items(), shifts, STYLES, _MARKERS, strict=False
        ):
            places = [agents.index(number) + shift for number in line]
            _draw_cost(axes, places, list(line.values()), grouping, colour, f"{marker}-")
        places = [agents.index(number) for number in ungrouped]
        _draw_cost(axes, places, list(ungrouped.values()), "no grouping", "black", "*")
        axes.set_xticks(range(len(agents)), [str(each) for each in agents])
        axes.set(xlabel="agents", ylabel=f"cost, multiples of that of {parameters} agents")
        _title(axes, f"after {samples:,} samples")
    _add_legend(figure)
    save(figure, path)


def _draw_cost(
    axes: Axes,
    places: Sequence[float],
    rows: Sequence[RatioRow],
    label: str,
    colour: str,
    style: str,
) -> None:
    ratio, low, high = (
        np.array([getattr(row, name) for row in rows]) for name in ("ratio", "low", "high")
    )
    axes.errorbar(
        places,
        ratio,
        # A percentile interval may be beside its figure.
        np.maximum([ratio - low, high - ratio], 0),
        color=colour,
        fmt=style,
        label=label,
        linewidth=0.7,
        elinewidth=1.3,
        markersize=4.5,
    )


def draw_shares(curves: Mapping[int, Rows], path: Path) -> None:
    """Draw the mean return against samples by number of agents, a panel each with one agent."""
    several = {agents: curve for agents, curve in curves.items() if agents != 1}
    figure = Figure(figsize=(13, 7), layout="constrained")
    panels = _panels(figure, len(several), sharey=True)
    for axes, (agents, curve) in zip(panels, several.items(), strict=False):
        for rows, colour, label in (
            (curves.get(1, ()), GREY, "one agent"),
            (curve, STYLES[0][0], "as many agents as the panel's title says"),
        ):
            samples, share, low, high = _columns(rows, "samples", "share", "low", "high")
            axes.plot(samples, share, color=colour, label=label)
            axes.fill_between(samples, low, high, color=colour, alpha=0.25, linewidth=0)
        _title(axes, f"{agents} agents")
        axes.set(xscale="log", xlabel="samples", ylabel="mean return, share of best")
    _add_legend(figure)
    save(figure, path)


def draw_trajectories(rows: Rows, path: Path) -> None:
    """Draw mean and spread of the choices of every parameter against samples, a panel each."""
    names = [key.removeprefix(_MEAN) for key in rows[0] if key.startswith(_MEAN)]
    columns = 4
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(3 * columns, 2.2 * lines), layout="constrained")
    panels = _panels(figure, len(names), columns, sharex=True, sharey=True)
    for axes, name in zip(panels, names, strict=True):
        for ((mapper,), found), (colour, _) in zip(grouped(rows, "mapper"), cycle(STYLES)):
            samples, mean, spread = _columns(found, "samples", _MEAN + name, _SPREAD + name)
            axes.plot(samples, mean, color=colour, label=mapper)
            axes.fill_between(
                samples, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0
            )
        axes.set_title(name, loc="left", fontsize=10)
        axes.set(xscale="log", ylim=(0, 1))
        tidy(axes)
    _add_legend(figure, "outside upper center", 2)
    figure.supxlabel("samples")
    figure.supylabel("choice (0 first, 1 last)")
    save(figure, path)


def _columns(rows: Rows, *keys: str) -> list[Floats]:
    return [np.array([float(row[key]) for row in rows]) for key in keys]


def _panels(
    figure: Figure, count: int, columns: int = 3, sharex: bool = False, sharey: bool = False
) -> list[Axes]:
    """Return some axes, at least one."""
    count = max(1, count)
    grid = figure.subplots(
        -(-count // columns), columns, sharex=sharex, sharey=sharey, squeeze=False
    )
    panels = list(grid.flat)
    for unused in panels[count:]:
        unused.set_visible(False)
    return panels[:count]


def _title(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    tidy(axes)


def _add_legend(figure: Figure, place: Place = "outside lower center", columns: int = 5) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, labelcolor=GREY)
