"""How far searches stay above the optimum: a file that remembers, a table and a curve."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from experiments.shown.plots import GREY, STYLES, in_picture, new_figure, save, tidy
from experiments.shown.statistics import Floats, geometric_mean, stratified_interval
from experiments.shown.tables import Sheet

_SIZE = (7.5, 4.5)


class Regrets:
    """Regrets of searches of some tasks by some methods, in a CSV file of those that ended.

    The file has the best value so far over the optimum. A regret is the per cent above it: of a
    task the interquartile mean over seeds, of all the geometric mean over tasks, with bootstrap
    intervals of 95 %. Seeds count that every task has of every method.

    Args:
        path: of the file; it need not exist.
        samples: after which there is a regret, N ascending numbers.

    Raises:
        ValueError: the file is of other numbers of samples.
    """

    def __init__(self, path: Path, samples: Sequence[int]) -> None:
        self._path, self._samples = path, samples
        header = ["task", "method", "seed", *map(str, samples)]
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append(header)
        with path.open(encoding="utf-8", newline="") as file:
            first, *rows = csv.reader(file)
        if first != header:
            raise ValueError(f"{path} is of other numbers of samples; write to another folder")
        self._found = {(row[0], row[1], int(row[2])): np.array(row[3:], float) for row in rows}

    def __contains__(self, search: tuple[str, str, int]) -> bool:
        return search in self._found

    def add(self, search: tuple[str, str, int], values: Floats, optimum: float) -> None:
        """Add what the search of a task, by a method, with a seed evaluated, in its order."""
        best = np.minimum.accumulate(values)[np.array(self._samples) - 1]
        self._found[search] = best / optimum
        self._append([*search, *self._found[search].tolist()])

    def sheet(self) -> Sheet:
        """Return a table in which a row is a task, or all, and a method."""
        tasks, methods, seeds = self._names()
        rows = []
        for members in (*([task] for task in tasks), tasks):
            for method in methods:
                columns = self._of(method, members, seeds).T
                cells = [f"{middle:.1f} ({low:.1f} to {high:.1f})" for middle, low, high in columns]
                rows.append([members[0] if len(members) == 1 else "all", method, *cells])
        title = f"Per cent above the optimum, {len(seeds)} seeds"
        return Sheet(title, ["task", "method"], [f"{n:,} samples" for n in self._samples], rows)

    def draw(self, png: Path) -> None:
        """Draw the regret of all tasks; each line has the name of its method at its end."""
        figure = new_figure(_SIZE)
        axes = figure.subplots()
        tasks, methods, seeds = self._names()
        for method, (colour, _) in zip(methods, STYLES, strict=False):
            middle, low, high = self._of(method, tasks, seeds)
            axes.plot(self._samples, middle, color=colour)
            axes.fill_between(self._samples, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.annotate(
                in_picture(method),
                (self._samples[-1], middle[-1]),
                xytext=(5, 0),
                textcoords="offset points",
                color=colour,
                verticalalignment="center",
            )
        axes.set(xscale="log", yscale="log", xlabel="samples", ylabel="% above the optimum")
        title = f"Geometric mean of {len(tasks)} tasks, {len(seeds)} seeds"
        axes.set_title(title, loc="left", fontsize=10, color=GREY)
        tidy(axes)
        save(figure, png)

    def _names(self) -> tuple[list[str], list[str], list[int]]:
        """Return tasks, methods and the seeds that all of them have."""
        tasks = list(dict.fromkeys(task for task, _, _ in self._found))
        methods = list(dict.fromkeys(method for _, method, _ in self._found))
        seeds = sorted({seed for _, _, seed in self._found})
        pairs = list(product(tasks, methods))
        return (
            tasks,
            methods,
            [s for s in seeds if all((*pair, s) in self._found for pair in pairs)],
        )

    def _of(self, method: str, tasks: Sequence[str], seeds: Sequence[int]) -> Floats:
        """Return regret, lower and upper end, float64[3, N]."""
        strata = [np.array([self._found[task, method, seed] for seed in seeds]) for task in tasks]
        ratios = [geometric_mean(strata), *stratified_interval(strata, geometric_mean)]
        return 100 * (np.array(ratios) - 1)

    def _append(self, row: Sequence[object]) -> None:
        with self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(row)
