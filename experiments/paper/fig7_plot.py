"""The picture of Fig. 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.plots import GREY, STYLES, save, tidy

_COLUMNS = 4
_MEAN, _SPREAD = "mean_", "spread_"


def draw_trajectories(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Draw the choices of every parameter against samples, a panel a parameter.

    Args:
        rows: of the mean and spread of all parameters in each window of a mapper's searches.
        path: of the PNG file.

    Raises:
        RecordError: it cannot be written.
    """
    names = [key.removeprefix(_MEAN) for key in rows[0] if key.startswith(_MEAN)]
    mappers = list(dict.fromkeys(row["mapper"] for row in rows))
    lines = -(-len(names) // _COLUMNS)
    figure = Figure(figsize=(3 * _COLUMNS, 2.2 * lines), layout="constrained")
    panels = figure.subplots(lines, _COLUMNS, squeeze=False, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, names, strict=False):
        for mapper, (colour, _) in zip(mappers, cycle(STYLES)):
            samples, mean, spread = np.array(
                [
                    [float(row[key]) for key in ("samples", f"{_MEAN}{name}", f"{_SPREAD}{name}")]
                    for row in rows
                    if row["mapper"] == mapper
                ]
            ).T
            axes.plot(samples, mean, color=colour, label=mapper)
            axes.fill_between(
                samples, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0
            )
        axes.set_title(name, loc="left", fontsize=10)
        axes.set(xscale="log", ylim=(0, 1))
        tidy(axes)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=2, frameon=False, labelcolor=GREY
    )
    figure.supxlabel("samples")
    figure.supylabel("choice (0 first, 1 last)")
    save(figure, path)
