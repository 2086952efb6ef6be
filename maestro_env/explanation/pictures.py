"""Pictures of an explanation; ``rendering.picture`` draws the tiles on the PEs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from maestro_env.explanation.explanation import Explanation
from maestro_env.explanation.hierarchy import HierarchyExplanation
from maestro_env.explanation.traffic import TENSORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers.
_COLOURS = ("#0072B2", "#E69F00", "#009E73")
_GREY = "#555555"


def traffic_figure(explanation: Explanation | HierarchyExplanation) -> Figure:
    """Draw the words that each memory reads and writes, and their energy, by tensor."""
    figure, (words_axes, energy_axes) = _panels()
    traffic, energy = explanation.traffic, explanation.energy
    places = np.arange(len(traffic.memories))
    for number, (tensor, colour) in enumerate(zip(TENSORS, _COLOURS, strict=True)):
        high = 0.8 / len(TENSORS)
        middle = places + (number - 1) * high
        words_axes.barh(middle, traffic.words[:, number], high, color=colour, label=tensor)
        before = energy.accesses[:, :number].sum(axis=1)
        energy_axes.barh(range(len(before)), energy.accesses[:, number], left=before, color=colour)
    others = {"MACs": energy.macs} | ({"leakage": energy.leakage} if energy.leakage else {})
    rows = len(energy.memories) + np.arange(len(others))
    energy_axes.barh(rows, list(others.values()), color=_GREY)
    words_axes.set_xscale("log")
    words_axes.set_xlabel("words read and written")
    words_axes.legend(frameon=False)
    energy_axes.set_xlabel("energy (nJ)")
    _name_rows(words_axes, list(traffic.memories))
    _name_rows(energy_axes, [*energy.memories, *others])
    return figure


def time_figure(explanation: Explanation) -> Figure:
    """Draw where the cycles go, and what a step of L2 takes: the mean, from least to most."""
    figure, (parts_axes, steps_axes) = _panels()
    _draw_parts(parts_axes, explanation.cycles.parts)
    steps = explanation.steps
    delays = (steps.ingress, steps.compute, steps.egress)
    means = [each.mean for each in delays]
    # Where all are equal, the mean may be beside them by rounding.
    below = [max(each.mean - each.least, 0.0) for each in delays]
    above = [max(each.most - each.mean, 0.0) for each in delays]
    places = range(len(delays))
    steps_axes.barh(places, means, xerr=[below, above], color=_COLOURS[0], capsize=4)
    steps_axes.set_xlabel(f"cycles of a step of L2 (of {steps.steps:,})")
    _name_rows(steps_axes, ["words in", "compute", "outputs out"])
    return figure


def port_figure(explanation: HierarchyExplanation) -> Figure:
    """Draw where the cycles go, and those that each limit of a port takes, next to computing."""
    figure, (parts_axes, ports_axes) = _panels()
    _draw_parts(parts_axes, explanation.cycles)
    busy = {"compute": explanation.cycles["compute"], **explanation.port_cycles}
    ports_axes.barh(range(len(busy)), list(busy.values()), color=_COLOURS[0])
    ports_axes.set_xlabel("cycles, each alone")
    _name_rows(ports_axes, list(busy))
    return figure


def _panels() -> tuple[Figure, Any]:
    """Return a figure with two panels side by side."""
    # Matplotlib takes longer to import than all else here.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    return figure, figure.subplots(1, 2)


def _draw_parts(axes: Axes, parts: Mapping[str, float]) -> None:
    """Draw the parts of the latency that are not 0, with their shares."""
    named = {name.replace("_", " "): part for name, part in parts.items() if part}
    bars = axes.barh(range(len(named)), list(named.values()), color=_COLOURS[0])
    axes.bar_label(bars, [f"{part / sum(named.values()):.1%}" for part in named.values()])
    axes.margins(x=0.15)
    axes.set_xlabel("cycles")
    _name_rows(axes, list(named))


def _name_rows(axes: Axes, names: list[str]) -> None:
    """Name the bars, the first one on top."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
