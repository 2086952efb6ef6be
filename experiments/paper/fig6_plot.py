"""The pictures of Fig. 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.paper.ratio_rows import RatioRow
from experiments.paper.variants import ONE, PARAMETERS, Variant
from experiments.plots import GREY, STYLES, save, tidy

_COLUMNS = 3
_MARKERS = "osD^"
# Of the width between two numbers of agents, what the points of one take up.
_WIDTH = 0.5

Ratios = Mapping[Variant, Mapping[int, RatioRow]]
"""By variant and number of samples."""
Rows = Sequence[Mapping[str, str]]


def draw_costs(ratios: Ratios, path: Path) -> None:
    """Draw the cost against the number of agents, a line a grouping.

    Args:
        ratios: costs in multiples of that of one agent per parameter.
        path: of the PNG file.

    Raises:
        RecordError: it cannot be written.
    """
    # Every second number of samples: few panels are large enough to read.
    shown = sorted({samples for found in ratios.values() for samples in found})[::2]
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    for axes, samples in zip(_panels(figure, len(shown)), shown, strict=False):
        found = {each: rows[samples] for each, rows in ratios.items() if samples in rows}
        _draw_costs(axes, found)
        _title(axes, f"after {samples:,} samples")
    _add_legend(figure)
    save(figure, path)


def draw_returns(rows: Rows, path: Path) -> None:
    """Draw the mean return against samples, a panel a number of agents, one agent in each.

    Args:
        rows: of each variant's mean return as a share of the best known's, and its interval.
        path: of the PNG file.

    Raises:
        RecordError: it cannot be written.
    """
    curves: dict[Variant, list[Mapping[str, str]]] = {}
    for row in rows:
        curves.setdefault(Variant.of(row), []).append(row)
    one = curves.pop(ONE, [])
    figure = Figure(figsize=(13, 7), layout="constrained")
    for axes, (variant, curve) in zip(
        _panels(figure, len(curves), sharey=True), curves.items(), strict=False
    ):
        _draw_return(axes, one, GREY, "one agent")
        _draw_return(axes, curve, STYLES[0][0], "as many agents as the panel's title says")
        _title(axes, f"{_agents(variant)} agents")
        axes.set(xscale="log", xlabel="samples", ylabel="mean return, share of best")
    _add_legend(figure)
    save(figure, path)


def _panels(figure: Figure, count: int, sharey: bool = False) -> list[Axes]:
    """Return some axes, at least one."""
    count = max(1, count)
    grid = figure.subplots(-(-count // _COLUMNS), _COLUMNS, sharey=sharey, squeeze=False)
    panels = list(grid.flat)
    for unused in panels[count:]:
        unused.remove()
    return panels[:count]


def _draw_costs(axes: Axes, found: Mapping[Variant, RatioRow]) -> None:
    agents = sorted({_agents(variant) for variant in found})
    lines: dict[str, list[Variant]] = {}
    for variant in found:
        lines.setdefault(_grouping(variant), []).append(variant)
    ungrouped = lines.pop("", [])
    shifts = np.linspace(-_WIDTH / 2, _WIDTH / 2, len(lines))
    axes.axhline(1, color=GREY, linewidth=1)
    for (label, line), shift, (colour, _), marker in zip(
        lines.items(), shifts, STYLES, _MARKERS, strict=False
    ):
        places = [agents.index(_agents(each)) + shift for each in line]
        _draw_cost(axes, places, [found[each] for each in line], label, colour, f"{marker}-")
    places = [agents.index(_agents(each)) for each in ungrouped]
    _draw_cost(axes, places, [found[each] for each in ungrouped], "no grouping", "black", "*")
    axes.set_xticks(range(len(agents)), [str(each) for each in agents])
    axes.set(xlabel="agents", ylabel=f"cost, multiples of that of {PARAMETERS} agents")


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
        # A percentile interval may lie beside its figure.
        np.maximum([ratio - low, high - ratio], 0),
        color=colour,
        fmt=style,
        label=label,
        linewidth=0.7,
        elinewidth=1.3,
        markersize=4.5,
    )


def _draw_return(axes: Axes, curve: Rows, colour: str, label: str) -> None:
    samples, share, low, high = (
        np.array([float(row[key]) for row in curve]) for key in ("samples", "share", "low", "high")
    )
    axes.plot(samples, share, color=colour, label=label)
    axes.fill_between(samples, low, high, color=colour, alpha=0.25, linewidth=0)


def _agents(variant: Variant) -> int:
    return variant.agents or PARAMETERS


def _grouping(variant: Variant) -> str:
    """Return how parameters are shared out; empty if there is nothing to share out."""
    return " by ".join(part for part in (variant.grouping, variant.measure) if part)


def _title(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    tidy(axes)


def _add_legend(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=5, frameon=False, labelcolor=GREY
    )
