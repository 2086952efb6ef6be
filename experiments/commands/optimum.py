"""``maestro-env optimum``: find the best mapping of a layer and prove that none is better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.experiments.proving.proof import (
    ProofRecord,
    ProofState,
    bear_out,
    prove,
    write_certificate,
)
from maestro_env.experiments.search.goals import (
    AnyProblemConfig,
    Goal,
    LayerConfig,
    make_goal,
    write_best,
)
from maestro_env.experiments.search.printed_result import found_line, place, taken_by, within
from maestro_env.experiments.shell import cli, files
from maestro_env.experiments.shell.flags import (
    PROGRAM,
    option,
    out_option,
    svg_option,
    threads_option,
)
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.plots import STYLES, in_picture, new_figure, plot, scale_y, tidy
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table, at_most, significant
from maestro_env.experiments.store.claims import only_process
from maestro_env.experiments.store.running import Running
from maestro_env.optimum.memories import merges_classes
from maestro_env.optimum.search import MOST_NODES
from maestro_env.optimum.solving import Limits, require_search
from maestro_env.prior.proposals import PROPOSALS
from maestro_env.workloads.finding import find_layer

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class Config(AnyProblemConfig, LayerConfig):
    """Find the best mapping of a layer and prove that none is better."""

    start: int = option(
        PROPOSALS,
        "proposals of the prior first, with two buffers: a value to improve on",
        most=10**6,
    )
    gap: float = option(0.0, "end with a best value at most this share above the bound")
    nodes: int = option(MOST_NODES, "end after so many boxes of mappings", least=1, most=MOST_NODES)
    samples: int = option(10**9, "end after so many evaluated mappings", least=1)
    seconds: float = option(1e9, "end after so many seconds")
    threads: int = threads_option("bounds and evaluation")
    out: str | None = out_option("the first free runs/<layer>-<objective>-optimum-<n>")
    resume: bool = option(False, "continue the search in --out")
    plot: bool = option(False, "draw best and bound over time; the command report does so too")
    svg: bool = svg_option()


_CERTIFICATE = "certificate.gz"


def execute(config: Config) -> int:
    """Search, write, print, and return the exit status."""
    layer = find_layer(config.layer)
    goal = make_goal(config, layer, config.accelerator(), config.objective)
    require_search(goal.problem, goal.objective)
    names = (goal.problem.layer.name, goal.objective.name, "optimum")
    stem = "-".join(map(files.safe_name, names))
    with (
        Running.of(config, "optimum", stem, "found") as running,
        only_process(running.directory / "optimum.json") as path,
    ):
        record = ProofRecord(path, goal, running.versions)
        # A search that was killed at once has written nothing.
        if not files.is_empty(running.directory):
            record.read()
        try:
            _prove(config, goal, record)
        except KeyboardInterrupt:
            running.status = cli.INTERRUPTED
        _report(config, goal, record, not running.interrupted)
    return running.status


def _limits(config: Config) -> Limits:
    return Limits(config.gap, config.nodes, config.samples, config.seconds)


def _prove(config: Config, goal: Goal, record: ProofRecord) -> None:
    limits = _limits(config)
    record.borne_out = record.left is None
    with Bar("gap", 1) as bar:

        def show(now: ProofState) -> None:
            best = math.inf if now.best is None else now.best
            bar.show(1 - min(now.gap, 1), f"best {best:.4g}, gap {now.gap:.2%}")

        prove(goal, record, limits, config.start, config.threads, show)
    if not record.borne_out:
        record.borne_out = bear_out(goal, record) >= record.found.solution.bound
    write_certificate(goal, record, record.path.with_name(_CERTIFICATE), config.threads)


def _report(config: Config, goal: Goal, record: ProofRecord, ended: bool) -> None:
    """Write the best mapping, print the table, and draw if asked to."""
    directory, found = record.path.parent, record.found
    if found.best_point is not None:
        write_best(
            directory,
            goal,
            found.best_point,
            objective=found.best,
            bound=found.bound,
            certificate=found.certificate,
        )
    says = "" if record.borne_out else ", as its record says"
    print_lines(*_headline(goal, found, says), "")
    _table(goal, found, ended, _limits(config)).print()
    if found.certificate:
        print_lines(f"certificate: {directory / _CERTIFICATE}")
    if found.best_point is not None:
        print_lines(f"why it costs this: {PROGRAM} explain {quote(str(directory))}")
    print_lines(f"optimum: {directory}")
    if config.plot or config.svg:
        plot(directory / "optimum.png", lambda: _draw(goal, found), config.svg, directory)


def _headline(goal: Goal, found: ProofState, says: str) -> Iterator[str]:
    """Yield the lines that say what was found, in which mapping, and who says so."""
    problem = goal.problem
    if found.best is None or found.best_point is None:
        none = "no valid mapping was found" if found.samples else "stopped before the first mapping"
        yield problem.why_nothing_fits() or none
        return
    yield found_line(goal.objective, found.best, within(found.gap) + says)
    yield place(str(problem.layer), goal)
    yield from taken_by(problem, found.best_point)


def _table(goal: Goal, found: ProofState, ended: bool, limits: Limits) -> Table:
    problem = goal.problem
    best, bound = found.best or math.inf, found.bound or math.inf
    figures = {
        f"best {goal.objective.label}": significant(best, 7),
        "bound": significant(bound, 7),
        "gap": _gap(found),
        _boxes(goal): f"{found.nodes:,}",
        "samples": f"{found.samples:,}",
        "seconds": f"{found.seconds:.2f}",
    }
    title = f"Mappings of {problem.schema or 'equal shares'}"
    note = ""
    if ended and not found.proven:
        note = "Stopped at a limit. To continue: same flags, --resume --out DIR, higher limit."
        if not limits.reached(found.solution):
            note = "All boxes are bounded as finely as they can be."
    if isinstance(problem, HierarchyProblem) and not found.proven and merges_classes(problem):
        note += " Classes of tiles are merged, as tables of all would be too large."
    return Table(title, ("model",), tuple(figures), [(problem.model, *figures.values())], note)


def _boxes(goal: Goal) -> str:
    return "boxes" if "levels" in goal.problem.abilities else "thousands of states"


def _gap(found: ProofState) -> str:
    if found.best_point is None:
        return "-"
    return "0 (proven)" if found.proven else at_most(found.gap)


def _draw(goal: Goal, found: ProofState) -> Figure:
    """Draw best and bound over time."""
    seconds, best, bound = (
        [math.nan if each is None else each for each in column]
        for column in zip(*found.curve, strict=True)
    )
    figure = new_figure((8, 5))
    axes = figure.subplots()
    for values, label, (colour, line) in zip(
        (best, bound), ("best", "bound"), STYLES, strict=False
    ):
        axes.step(seconds, values, where="post", label=label, color=colour, linestyle=line)
    scale_y(axes)
    axes.set(xlabel="seconds", ylabel=f"{goal.objective.name} ({goal.objective.unit})")
    axes.set_title(in_picture(f"{goal.problem.layer} on {goal.problem.hardware.name}"), loc="left")
    axes.legend(frameon=False)
    tidy(axes)
    return figure
