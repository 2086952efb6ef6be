"""Fig. 4 of the paper: the dependence between parameters, and the tree that groups them."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster import hierarchy

from maestro_env.clustering import Clustering
from maestro_env.experiments.shown.plots import GREY, STYLES, in_picture, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Dependences at least this strong are written white on dark.
_DARK = 0.6
_HEADROOM = 1.1


def draw_clustering(clustering: Clustering, title: str) -> Figure:
    """Draw the matrix and the tree side by side, a row a parameter and a colour an agent."""
    order = row_order(clustering)
    figure = new_figure((10, 0.32 * len(order) + 1.6))
    figure.suptitle(in_picture(title), x=0.01, ha="left", fontsize=11, fontweight="bold")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_matrix(left, clustering, order)
    _draw_tree(right, clustering, order)
    return figure


def row_order(clustering: Clustering) -> list[str]:
    """Return parameters as they stand in the picture: as leaves, then those without variance."""
    tree = clustering.tree
    # A tree of one leaf has no merge, which scipy refuses.
    leaves = hierarchy.leaves_list(tree.merges).tolist() if len(tree.merges) else [0]
    names = [tree.leaves[leaf] for leaf in leaves]
    return names + [name for name in clustering.dependence.names if name not in names]


def cut(clustering: Clustering) -> tuple[int, float]:
    """Return how many merges the agents' groups need, and a height halfway to the next merge."""
    tree, heights = clustering.tree, clustering.tree.merges[:, 2]
    leaves = set(tree.leaves)
    merged = len(leaves) - sum(not leaves.isdisjoint(group) for group in clustering.groups.values())
    below = heights[merged - 1] if merged else 0.0
    above = heights[merged] if merged < len(heights) else max(_HEADROOM * below, tree.apart)
    return merged, float(below + above) / 2


def _draw_matrix(axes: Axes, clustering: Clustering, order: list[str]) -> None:
    dependence = clustering.dependence
    rows = [dependence.names.index(name) for name in order]
    matrix = dependence.matrix[np.ix_(rows, rows)]
    axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(matrix):
        colour = "white" if abs(value) > _DARK else "black"
        axes.text(column, row, f"{value:z.2f}", color=colour, fontsize=6, ha="center", va="center")
    axes.set_xticks(range(len(order)), order, rotation=90)
    axes.set_yticks(range(len(order)), order)
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)
    axes.set_title(f"dependence: {dependence.measure}", loc="left", fontsize=9, color=GREY)


def _draw_tree(axes: Axes, clustering: Clustering, order: list[str]) -> None:
    """Draw every merge as three lines: two branches, and what joins them."""
    merges, leaves = clustering.tree.merges, clustering.tree.leaves
    merged, height = cut(clustering)
    colours = _colours(clustering, order)
    # Of every node so far: its row, its height, and the colour of its first leaf's agent.
    nodes = [(float(order.index(name)), 0.0, colours[name]) for name in leaves]
    for index, (left, right, top, _) in enumerate(merges):
        (one, start, colour), (other, begin, _) = nodes[int(left)], nodes[int(right)]
        line = colour if index < merged else GREY
        axes.plot([start, top, top, begin], [one, one, other, other], color=line, linewidth=1.5)
        nodes.append(((one + other) / 2, float(top), colour))
    axes.axvline(height, color="black", linestyle=(0, (4, 3)), linewidth=1)
    rows = range(len(order))
    axes.scatter([0] * len(order), rows, s=25, c=[colours[name] for name in order], clip_on=False)
    axes.set_xlim(left=0, right=_HEADROOM * max(height, merges[:, 2].max(initial=0)))
    axes.set_xlabel("height of the merge (broken line: the cut into agents)")
    axes.tick_params(left=False, labelleft=False)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(f"agents: {len(clustering.groups)}", loc="left", fontsize=9, color=GREY)


def _colours(clustering: Clustering, order: list[str]) -> dict[str, str]:
    """Return the colour of every parameter's agent; agents that stand together differ."""
    agents = {name: agent for agent, group in clustering.groups.items() for name in group}
    in_rows = dict.fromkeys(agents[name] for name in order)
    colours = {agent: colour for agent, (colour, _) in zip(in_rows, cycle(STYLES))}
    return {name: colours[agents[name]] for name in order}
