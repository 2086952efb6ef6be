"""The picture of a score: how many searches came near the optimum, by samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from maestro_env.experiments.commands.benchmark.scores import LIMITS, Scores, reached
from maestro_env.experiments.shown.plots import STYLES, in_picture, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_LINES = len(STYLES)


def draw_reached(every: Sequence[Scores]) -> Figure:
    """Draw the share of searches and limits that were reached, mean over all.

    It is the empirical distribution of COCO: a line is the mean over the limits of the table.
    """
    curves = {each.method: (each.counts, reached(each, LIMITS).mean(axis=1)) for each in every}
    # The best stand first, as far as lines can be told apart.
    ordered = sorted(curves, key=lambda method: -float(np.mean(curves[method][1])))[:_MOST_LINES]
    figure = new_figure((9, 5))
    axes = figure.subplots()
    for method, (colour, line) in zip(ordered, STYLES, strict=False):
        counts, shares = curves[method]
        axes.step(
            *(counts, shares),
            where="post",
            color=colour,
            linestyle=line,
            label=in_picture(method),
        )
    tidy(axes)
    limits = ", ".join(f"{limit:.2f}" for limit in LIMITS)
    axes.set(
        xscale="log",
        ylim=(0, 1.02),
        xlabel="samples",
        ylabel=f"searches within {limits}\ntimes the optimum, mean of the four",
    )
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure
