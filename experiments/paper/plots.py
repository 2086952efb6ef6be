"""The pictures of Fig. 5, 6 and 7, drawn from result files into PNG and SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.paper.ratios import Ratio
from experiments.paper.rows import Rows, grouped
from experiments.search.goals import unique
from experiments.shown.plots import GREY, STYLES, save, tidy
from experiments.shown.statistics import Floats

_COLOURS = [colour for colour, _ in STYLES]
_MARKERS = "osD^"
# Of the width between two numbers of agents, what the points of one take up.
_WIDTH = 0.5
_SAMPLES = {"xscale": "log", "xlabel": "samples"}
_MEAN, _SPREAD = "mean_", "spread_"


def draw_returns(rows: Rows, warm_ups: Mapping[str, int], path: Path) -> None:
    """Draw the mean return against samples, a panel a problem.

    Args:
        rows: of the mean, least and greatest return of each mapper's searches in each window.
        warm_ups: samples that mappers spent before; their curves are drawn again behind these.
        path: of the PNG file.
    """
    layers, objectives = (unique(row[key] for row in rows) for key in ("layer", "objective"))
    colours = dict(zip(unique(row["mapper"] for row in rows), cycle(_COLOURS)))
    problems = grouped(rows, "layer", "objective")
    size = (4 * len(objectives), 3.2 * len(layers))
    figure, panels = _panels(size, len(layers) * len(objectives), len(objectives))
    for (layer, objective), here in problems.items():
        axes = panels[layers.index(layer) * len(objectives) + objectives.index(objective)]
        for (mapper,), curve in grouped(here, "mapper").items():
            band = _columns(curve, "samples", "mean", "low", "high")
            _draw_band(axes, band, colours[mapper], mapper)
            if warm_up := warm_ups.get(mapper, 0):
                label = f"{mapper}, warm-up counted"
                axes.plot(band[0] + warm_up, band[1], ":", color=colours[mapper], label=label)
        _finish(axes, f"{layer}: {objective}", **_SAMPLES, ylabel="mean return")
    _save(figure, path)


def draw_costs(
    lines: Mapping[tuple[str, int], Sequence[Ratio]], parameters: int, path: Path
) -> None:
    """Draw the cost against the number of agents, a line a grouping.

    Args:
        lines: costs in multiples of those of one agent per parameter, by grouping and agents.
        parameters: how many agents that is.
        path: of the PNG file.
    """
    # Every second number of samples: few panels are large enough to read.
    shown = sorted({ratio.samples for ratios in lines.values() for ratio in ratios})[::2]
    agents = sorted({number for _, number in lines})
    groupings = unique(grouping for grouping, _ in lines if grouping)
    shifts = np.linspace(-_WIDTH / 2, _WIDTH / 2, len(groupings))
    styles = [(colour, f"{marker}-") for colour, marker in zip(_COLOURS, _MARKERS, strict=False)]
    looks = [*zip(groupings, groupings, shifts, styles, strict=False)]
    looks.append(("", "no grouping", 0, ("black", "*")))
    figure, panels = _panels((13, 4.6), len(shown))
    for axes, samples in zip(panels, shown, strict=False):
        axes.axhline(1, color=GREY, linewidth=1)
        for grouping, label, shift, (colour, fmt) in looks:
            line = {
                agents.index(number) + shift: ratio
                for (how, number), ratios in lines.items()
                for ratio in ratios
                if (how, ratio.samples) == (grouping, samples)
            }
            figures = [(each.ratio, each.low, each.high) for each in line.values()]
            ratio, low, high = np.array(figures, dtype=np.float64).reshape(-1, 3).T
            # A percentile interval may be beside its figure.
            bars = np.maximum([ratio - low, high - ratio], 0)
            style: dict[str, Any] = {"label": label, "color": colour, "fmt": fmt, "linewidth": 0.7}
            axes.errorbar([*line], ratio, bars, elinewidth=1.3, markersize=4.5, **style)
        axes.set_xticks(range(len(agents)), [str(each) for each in agents])
        ylabel = f"cost, multiples of that of {parameters} agents"
        _finish(axes, f"after {samples:,} samples", xlabel="agents", ylabel=ylabel)
    _save(figure, path)


def draw_shares(curves: Mapping[int, Rows], path: Path) -> None:
    """Draw the mean return against samples by number of agents, a panel each with one agent."""
    several = {agents: curve for agents, curve in curves.items() if agents != 1}
    figure, panels = _panels((13, 7), len(several), sharey=True)
    for axes, (agents, curve) in zip(panels, several.items(), strict=False):
        for rows, colour, label in (
            (curves.get(1, ()), GREY, "one agent"),
            (curve, _COLOURS[0], "as many agents as the panel's title says"),
        ):
            band = _columns(rows, "samples", "share", "low", "high")
            _draw_band(axes, band, colour, label, alpha=0.25)
        _finish(axes, f"{agents} agents", **_SAMPLES, ylabel="mean return, share of best")
    _save(figure, path)


def draw_trajectories(rows: Rows, path: Path) -> None:
    """Draw mean and spread of the choices of every parameter against samples, a panel each."""
    names = [key.removeprefix(_MEAN) for key in rows[0] if key.startswith(_MEAN)]
    size = (12, 2.2 * -(-len(names) // 4))
    figure, panels = _panels(size, len(names), columns=4, sharex=True, sharey=True)
    for axes, name in zip(panels, names, strict=True):
        for ((mapper,), found), colour in zip(grouped(rows, "mapper").items(), cycle(_COLOURS)):
            samples, mean, spread = _columns(found, "samples", _MEAN + name, _SPREAD + name)
            _draw_band(axes, (samples, mean, mean - spread, mean + spread), colour, mapper)
        _finish(axes, name, weight="normal", xscale="log", ylim=(0, 1))
    figure.supxlabel("samples")
    figure.supylabel("choice (0 first, 1 last)")
    _save(figure, path, "outside upper center", 2)


def _columns(rows: Rows, *keys: str) -> list[Floats]:
    return [np.array([float(row[key]) for row in rows]) for key in keys]


def _panels(
    size: tuple[float, float], count: int, columns: int = 3, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure of some axes, at least one."""
    figure = Figure(figsize=size, layout="constrained")
    count = max(1, count)
    panels = list(figure.subplots(-(-count // columns), columns, squeeze=False, **shared).flat)
    for unused in panels[count:]:
        unused.set_visible(False)
    return figure, panels[:count]


def _draw_band(
    axes: Axes, band: Sequence[Floats], colour: str, label: str, alpha: float = 0.15
) -> None:
    """Draw figures against samples, and a band between their lower and upper ends."""
    samples, figures, low, high = band
    axes.plot(samples, figures, color=colour, label=label)
    axes.fill_between(samples, low, high, color=colour, alpha=alpha, linewidth=0)


def _finish(axes: Axes, title: str, weight: str = "bold", **settings: Any) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight=weight)
    axes.set(**settings)
    tidy(axes)


def _save(
    figure: Figure, path: Path, place: Any = "outside lower center", columns: int = 5
) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, labelcolor=GREY)
    save(figure, path)
