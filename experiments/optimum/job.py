"""The search for the optimum of a layer: prove, keep, report."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from experiments import cli, flags
from experiments.flags import option
from experiments.goals import Goal, ProblemConfig, make_goal
from experiments.optimum.record import Found, OptimumRecord, Step, open_record
from experiments.plots import STYLES, in_picture, save, tidy
from experiments.progress import Bar
from experiments.sheets import Sheet, significant
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import find_hardware
from maestro_env.objectives import OBJECTIVES
from maestro_env.optimum import OptimumSearch
from maestro_env.workloads import find_layer
from mappers.marl import MarlMapper

_SECONDS_BETWEEN_WRITES = 5.0
_NODES_BETWEEN_LOOKS = 100_000
# Ratio of two bounds that can be told apart in a plot.
_SEEN = 1.0001


@dataclass(frozen=True)
class _Problem:
    """The flags that say what is searched."""

    layer: str = option(
        "mobilenetv2_l2", "a name of experiments.run --list-layers, or another layer it takes"
    )
    objective: str = option("edp", f"what to minimise: {', '.join(OBJECTIVES)}")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class OptimumConfig(ProblemConfig, _Problem):
    """Find the best mapping of a layer and prove that none is better."""

    start: int = option(1000, "samples of marl first: a value to improve on", most=10**6)
    seed: int = option(0, "of these samples")
    gap: float = option(0.0, "end with a best value at most this share above the bound")
    nodes: int = option(10**15, "end after so many boxes of mappings", least=1, most=10**15)
    samples: int = option(10**9, "end after so many evaluated mappings", least=1)
    seconds: float = option(1e9, "end after so many seconds")
    threads: int = option(1, "threads of bounds and evaluation", least=1, most=1024)
    out: str | None = option(
        None,
        "where to write (default: the first free runs/<layer>-<objective>-optimum-<n>)",
        value="directory",
    )
    resume: bool = option(False, "continue the search in --out")


def execute(config: OptimumConfig) -> int:
    """Search, write, print, and return the exit status."""
    hardware = find_hardware(config.hardware)
    goal = make_goal(config, find_layer(config.layer), hardware, config.objective)
    search = OptimumSearch(goal.problem, goal.objective)
    with open_record(config.out, config.resume, goal) as record:
        ended = False
        with suppress(KeyboardInterrupt):
            _search(config, goal, search, record)
            ended = True
        with cli.undisturbed():
            _draw(goal, record)
            _sheet(goal, record.found).print()
            print(f"optimum: {record.directory}")
            if ended:
                return 0
            flags.tell_interrupted("found", config, "experiments.optimum", record.directory)
    return cli.INTERRUPTED


def _search(
    config: OptimumConfig, goal: Goal, search: OptimumSearch, record: OptimumRecord
) -> None:
    """Search until the proof or a limit, and write now and then."""
    before, began, written = record.found, time.perf_counter(), time.perf_counter()
    curve, samples = list(before.curve), before.samples

    def found() -> Found:
        seconds = before.seconds + time.perf_counter() - began
        best = search.best if search.best_point is not None else None
        bound = search.bound if math.isfinite(search.bound) else None
        if not curve or _differs(curve[-1], best, bound):
            curve.append((seconds, best, bound))
        point = None if search.best_point is None else search.best_point.tolist()
        nodes = before.nodes + search.nodes
        return Found(best, point, bound, nodes, samples, seconds, curve)

    try:
        if record.left is None:
            evaluator = Evaluator(goal.problem, goal.objective, threads=config.threads)
            try:
                if first := min(config.start, config.samples):
                    MarlMapper().search(evaluator, first, np.random.default_rng(config.seed))
            finally:
                samples = evaluator.used
                search.begin_with(evaluator.best)
        else:
            search.resume(before.best_point, before.best, record.left)
        with Bar("gap", 1) as bar:
            now = found()
            while not search.finished and search.gap > config.gap:
                if now.nodes >= config.nodes or now.seconds >= config.seconds:
                    break
                nodes = min(_NODES_BETWEEN_LOOKS, config.nodes - now.nodes)
                points = search.ask(nodes, config.threads)
                if samples + len(points) > config.samples:
                    break
                values, _ = goal.problem.score(points, goal.objective, config.threads)
                search.tell(points, values)
                samples += len(points)
                now = found()
                bar.show(1 - min(search.gap, 1), f"best {search.best:.4g}, gap {search.gap:.2%}")
                if time.perf_counter() - written > _SECONDS_BETWEEN_WRITES:
                    record.write(now, search.left)
                    written = time.perf_counter()
    finally:
        with cli.undisturbed():
            record.write(found(), search.left)


def _differs(last: Step, best: float | None, bound: float | None) -> bool:
    """Say whether a step is worth keeping: a better mapping, the proof, or a bound seen to rise."""
    _, old_best, old_bound = last
    if best != old_best or bound is None or old_bound is None:
        return (best, bound) != (old_best, old_bound)
    return bound != old_bound and (bound == best or bound > _SEEN * old_bound)


def _sheet(goal: Goal, found: Found) -> Sheet:
    problem = goal.problem
    best, bound = found.best or math.inf, found.bound or math.inf
    figures = {
        f"best {goal.objective.name} ({goal.objective.unit})": significant(best, 7),
        "bound": significant(bound, 7),
        "gap": "0 (proven)" if found.proven else f"{best / bound - 1:.3%}",
        "boxes": f"{found.nodes:,}",
        "samples": f"{found.samples:,}",
        "seconds": f"{found.seconds:.1f}",
    }
    title = (
        f"{problem.layer} on {problem.hardware.name}: mappings of {problem.space.schema}, "
        f"{problem.space.tiles}"
    )
    note = "" if found.best_point else "no mapping fits the buffers" if found.proven else ""
    return Sheet(title, ("model",), tuple(figures), [(problem.model, *figures.values())], note)


def _draw(goal: Goal, record: OptimumRecord) -> None:
    """Draw best and bound over time."""
    seconds, best, bound = (
        [math.nan if each is None else each for each in column]
        for column in zip(*record.found.curve, strict=True)
    )
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for values, label, (colour, line) in zip(
        (best, bound), ("best", "bound"), STYLES, strict=False
    ):
        axes.step(seconds, values, where="post", label=label, color=colour, linestyle=line)
    axes.set(
        xlabel="seconds", ylabel=f"{goal.objective.name} ({goal.objective.unit})", yscale="log"
    )
    axes.set_title(in_picture(f"{goal.problem.layer} on {goal.problem.hardware.name}"), loc="left")
    axes.legend(frameon=False)
    tidy(axes)
    save(figure, record.directory / "optimum.png")
