"""What arms reach with so many operations, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from maestro_env.experiments.shown.plots import STYLES, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = list[tuple[int, int, float]]
"""Of a training: after so many steps or episodes and so many operations, a loss or return."""

CURVES = "curves.png"
"""Name of the picture in a directory."""

_WIDTH, _HEIGHT, _LEGEND = 4.5, 4.0, 1.5


def draw_curves(panels: Mapping[str, Mapping[str, Sequence[Curve]]], label: str) -> Figure:
    """Draw curves against operations: a panel for each title, a line for each arm.

    A line is the mean over the trainings of an arm, which all have as many points.

    Args:
        panels: curves by title and arm.
        label: what the curves have.
    """
    figure = new_figure((_WIDTH * len(panels) + _LEGEND, _HEIGHT))
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    arms = dict.fromkeys(arm for of_arms in panels.values() for arm in of_arms)
    styles = dict(zip(arms, STYLES, strict=False))
    lines = {}
    for axes, (title, of_arms) in zip(every, panels.items(), strict=True):
        for arm, curves in of_arms.items():
            _, operations, reached = np.mean(curves, axis=0).T
            colour, style = styles[arm]
            (lines[arm],) = axes.plot(operations, reached, color=colour, linestyle=style)
        axes.set(xscale="log", xlabel="operations of the training", ylabel=label)
        axes.set_title(title, loc="left", fontsize="medium")
        tidy(axes)
    figure.legend(lines.values(), lines.keys(), loc="outside right center", frameon=False)
    return figure
