"""``maestro-env audit``: score a run's best mappings under both cost models.

And show what searches make of MAESTRO's errors: what they believe, what the accelerator would do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import latency_bound
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.audit.scores import (
    NONE,
    Auditor,
    headers_of,
    is_sweep,
    tables_of,
)
from maestro_env.experiments.search.cells import Finished
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.searches import run_search
from maestro_env.experiments.shell.files import RecordError, ensure_directory
from maestro_env.experiments.shell.flags import UsageError, option, svg_option, unique
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.plots import GREY, STYLES, in_picture, new_figure, plot
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.study.study import read_all
from maestro_env.mapspace.space import Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """Score a run's best mappings under both models: are their figures possible?"""

    rundir: str = option(MISSING, "directory of run, compare, sweep or codesign")
    exploit: str | None = option(
        None,
        "repeat the searches for latency under maestro without the guard, and draw in this "
        "directory how they exploit its errors",
        value="directory",
    )
    svg: bool = svg_option()


def execute(config: Config) -> int:
    """Score, print, and return the exit status."""
    directory = Path(config.rundir)
    if config.exploit is not None:
        show_exploitation(directory, Path(config.exploit), config.svg)
        return 0
    tables = tables_of(directory) if is_sweep(directory) else _tables(directory)
    for table in tables:
        table.print()
    return 0


def _tables(directory: Path) -> Iterator[Table]:
    """Yield a table for every problem that searches are for."""
    found = read_all(directory)
    if not found:
        raise RecordError(f"{directory} has no searches; give a directory of run or compare")
    for goal, searches in found:
        auditor = Auditor(goal)
        if warning := auditor.warning:
            print_errors(f"warning: {warning}")
        yield _table(goal, auditor, searches)


def _table(goal: Goal, auditor: Auditor, searches: Sequence[Finished]) -> Table:
    problem, objective = goal.problem, goal.objective
    layer = problem.layer
    rows = [
        (each.cell.mapper, str(each.cell.seed), *_columns(goal, auditor, each)) for each in searches
    ]
    title = (
        f"{layer} ({layer.operator} {layer.dimensions}) on {problem.hardware.name}, searched "
        f"for {objective.name} ({objective.unit}) under {problem.model}; "
        f"roofline {auditor.roofline:,} cycles"
    )
    return Table(title, ("mapper", "seed", "verdict on maestro"), headers_of(objective), rows)


def _columns(goal: Goal, auditor: Auditor, search: Finished) -> Iterator[str]:
    """Yield the verdict on a search's best mapping, and figures of both models."""
    if search.best_point is None:
        yield NONE
        return
    score = auditor.score(search.best_point)
    yield score.verdict
    yield from score.columns(goal.objective)


_LIMITS = (0.25, 70)
_TICKS = (0.5, 1, 2, 5, 10, 20, 50)
_SHADE = "#EFEAE2"
# More lines hide each other.
_TRAILS = 4


def show_exploitation(run: Path, directory: Path, svg: bool) -> None:
    """Do the searches of a run again, print where they end, and draw how they came there.

    Raises:
        UsageError: no search believed MAESTRO.
        RecordError: a record that cannot be read or was changed, or a search that ends elsewhere.
    """
    searches: list[Finished] = []
    trails: dict[str, list[Floats]] = {}
    # From the smallest layer to the largest.
    for goal, of_goal in sorted(read_all(run), key=lambda each: each[0].problem.layer.macs):
        problem = goal.problem
        asked = (problem.model, problem.guarded, goal.objective.name)
        valid = [each for each in of_goal if each.best_point is not None]
        if valid and asked == ("maestro", False, "latency"):
            trails[problem.layer.name] = [follow(goal, each) for each in valid]
            searches += valid
    if not searches:
        raise UsageError(
            f"--exploit: {run} has no mappings searched for latency under maestro without guard"
        )
    ensure_directory(directory)
    setting = _setting(searches)
    _ends(trails, setting).print()
    plot(directory / "exploitation.png", lambda: _draw(trails, setting), svg)


def follow(goal: Goal, search: Finished) -> Floats:
    """Do a search for latency again.

    Returns:
        float64[2, N], runtimes under maestro and under exact in multiples of the roofline: those
        of the best mapping so far after every generation, as long as it got better.
    """
    problem, objective = goal.require("levels"), goal.objective
    bests: dict[int, Points] = {}

    def note(evaluator: Evaluator) -> None:
        if best := evaluator.best:
            bests[best.evaluation] = best.point

    evaluator = Evaluator(problem, objective, search.evaluations, on_batch=note)
    run_search(evaluator, search.cell.mapper, search.cell.seed)
    points = np.stack(list(bests.values()))
    if tuple(points[-1].tolist()) != search.best_point:
        raise RecordError(
            f"{search.cell} ends elsewhere when repeated: its record is of another version, or "
            "started from a library"
        )
    models = (problem, Problem(problem.space, "exact"))
    runtimes = np.stack([objective.function(each.evaluate(points).metrics) for each in models])
    return runtimes / latency_bound(problem.layer, problem.hardware)


def _setting(searches: Sequence[Finished]) -> str:
    """Return what the searches have in common."""
    mappers = ", ".join(unique(each.cell.mapper for each in searches))
    samples = max(each.evaluations for each in searches)
    seeds = [each.cell.seed for each in searches]
    span = f"seeds {min(seeds)} to {max(seeds)}"
    return f"{mappers}, {samples:,} samples, {span}, maestro without guard"


def _ends(trails: Mapping[str, Sequence[Floats]], setting: str) -> Table:
    rows = []
    for layer, of_layer in trails.items():
        maestro, exact = np.stack([trail[:, -1] for trail in of_layer], axis=1)
        rows.append((layer, *map(_spread, (maestro, exact, exact / maestro))))
    title = f"Ends of searches, median (range): {setting}"
    headers = ("maestro / roofline", "exact / roofline", "exact / maestro")
    return Table(title, ("layer",), headers, rows)


def _spread(values: Floats) -> str:
    return f"{np.median(values):.2f} ({values.min():.2f} to {values.max():.2f})"


def _draw(trails: Mapping[str, Sequence[Floats]], setting: str) -> Figure:
    """Draw the trails of several layers, given by name, one panel a layer."""
    figure = new_figure((5 * len(trails), 6))
    title = "Searches under maestro end at runtimes that the accelerator cannot reach"
    figure.suptitle(title, fontsize=13, fontweight="bold")
    figure.supxlabel(in_picture(setting), color=GREY, fontsize=9)
    panels = figure.subplots(1, len(trails), sharey=True, squeeze=False)[0]
    for axes, layer, (colour, _) in zip(panels, trails, cycle(STYLES), strict=False):
        axes.set_title(in_picture(layer), fontsize=10)
        _draw_limits(axes)
        _draw_layer(axes, trails[layer], colour)
        _scale(axes)
    panels[0].set_ylabel("runtime under exact / roofline")
    panels[0].legend(frameon=False, loc="upper left", bbox_to_anchor=(0.28, 1), fontsize=9)
    return figure


def _draw_layer(axes: Axes, trails: Sequence[Floats], colour: str) -> None:
    for trail in trails[:_TRAILS]:
        axes.plot(*trail, ".-", color=colour, linewidth=0.8, markersize=4, alpha=0.5)
    axes.plot([], [], ".-", color=colour, label="best so far of one search")
    ends = np.stack([trail[:, -1] for trail in trails], axis=1)
    diamond: dict[str, Any] = {"marker": "D", "edgecolors": "black", "linewidths": 0.8, "s": 45}
    axes.scatter(*ends, color=colour, label="where a search ends", zorder=4, **diamond)


def _draw_limits(axes: Axes) -> None:
    axes.axvspan(_LIMITS[0], 1, color=_SHADE, linewidth=0)
    axes.axhspan(_LIMITS[0], 1, color=_SHADE, linewidth=0)
    axes.axvline(1, color=GREY, linewidth=1.2)
    axes.axhline(1, color=GREY, linewidth=1.2)
    axes.plot(_LIMITS, _LIMITS, color=GREY, linestyle=(0, (4, 3)), linewidth=1)
    _note(axes, (0.5, 10), "maestro: faster than\nthe accelerator can compute", rotation=90)
    _note(axes, (9, 0.5), "exact: faster than\nthe accelerator can compute")
    _note(axes, (45, 58), "equal", rotation=45)
    _note(axes, (48, 1.12), "roofline")


def _note(axes: Axes, at: tuple[float, float], text: str, rotation: float = 0) -> None:
    axes.text(*at, text, rotation=rotation, color=GREY, fontsize=9, ha="center", va="center")


def _scale(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    axes.set(xscale="log", yscale="log", xlim=_LIMITS, ylim=_LIMITS, aspect="equal")
    axes.set_xlabel("runtime under maestro / roofline")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_ticks(_TICKS)
        axis.set_minor_locator(NullLocator())
    axes.spines[["top", "right"]].set_visible(False)
