"""The picture of Fig. 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.plots import GREY, STYLES, save, tidy

Rows = Sequence[Mapping[str, str]]


def draw_returns(rows: Rows, warm_ups: Mapping[str, int], path: Path) -> None:
    """Draw the mean return against samples, a panel a problem.

    Args:
        rows: of the mean, least and greatest return of each mapper's searches in each window.
        warm_ups: samples that mappers spent before; their curves are drawn again behind these.
        path: of the PNG file.

    Raises:
        RecordError: it cannot be written.
    """
    layers, objectives, mappers = (_names(rows, key) for key in ("layer", "objective", "mapper"))
    figure = Figure(figsize=(4 * len(objectives), 3.2 * len(layers)), layout="constrained")
    panels = figure.subplots(len(layers), len(objectives), squeeze=False)
    for layer, line in zip(layers, panels, strict=True):
        for objective, axes in zip(objectives, line, strict=True):
            here = [row for row in rows if (row["layer"], row["objective"]) == (layer, objective)]
            for mapper, (colour, _) in zip(mappers, cycle(STYLES)):
                curve = [row for row in here if row["mapper"] == mapper]
                if curve:
                    _draw(axes, mapper, curve, colour, warm_ups.get(mapper, 0))
            axes.set_title(f"{layer}: {objective}", loc="left", fontsize=10, fontweight="bold")
            axes.set(xscale="log", xlabel="samples", ylabel="mean return")
            tidy(axes)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=5, frameon=False, labelcolor=GREY
    )
    save(figure, path)


def _draw(axes: Axes, mapper: str, curve: Rows, colour: str, warm_up: int) -> None:
    samples, low, mean, high = (
        np.array([float(row[key]) for row in curve]) for key in ("samples", "low", "mean", "high")
    )
    axes.plot(samples, mean, color=colour, label=mapper)
    axes.fill_between(samples, low, high, color=colour, alpha=0.15, linewidth=0)
    if warm_up:
        label = f"{mapper}, warm-up counted"
        axes.plot(samples + warm_up, mean, color=colour, linestyle=":", label=label)


def _names(rows: Rows, key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))
