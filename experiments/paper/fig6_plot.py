"""The picture of Fig. 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.paper.variants import ALL, ONE, PEARSON, Variant
from experiments.plots import GREY, STYLES, save, tidy

_LINES = {("", ""): "-", ("clustered", PEARSON): "-", ("random", ""): "--"}
"""Styles of the groupings that are drawn."""


def draw_shares(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Draw the mean return against samples, without and with the clustering's warm-up.

    Args:
        rows: of every variant's mean return as a share of the best known's.
        path: of the PNG file.

    Raises:
        RecordError: it cannot be written.
    """
    curves: dict[Variant, list[tuple[float, ...]]] = {}
    for row in rows:
        point = tuple(float(row[key]) for key in ("samples", "share", "warm_up"))
        curves.setdefault(Variant.of(row), []).append(point)
    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    _draw(panels[0], curves, charged=False)
    _draw(panels[1], curves, charged=True)
    panels[0].set_ylabel("mean return, share of the best known's")
    panels[0].set_title("warm-up not counted", loc="left", fontsize=10, fontweight="bold")
    panels[1].set_title("warm-up counted", loc="left", fontsize=10, fontweight="bold")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside right upper", frameon=False, labelcolor=GREY, title="agents"
    )
    save(figure, path)


def _draw(axes: Axes, curves: Mapping[Variant, Sequence[tuple[float, ...]]], charged: bool) -> None:
    numbers = dict.fromkeys((ONE.agents, ALL.agents, *(variant.agents for variant in curves)))
    colours = {agents: colour for agents, (colour, _) in zip(numbers, cycle(STYLES))}
    for variant, points in curves.items():
        line = _LINES.get((variant.grouping, variant.measure))
        if line is not None:
            samples, shares, warm_ups = np.array(points).T
            label = str(Variant(variant.agents, variant.grouping))
            axes.plot(
                samples + charged * warm_ups,
                shares,
                color=colours[variant.agents],
                linestyle=line,
                label=label,
            )
    axes.set(xscale="log", xlabel="samples")
    tidy(axes)
