"""What a policy does on layers and accelerators that it has never seen, beside searches.

A script, not a part of the suite:

    maestro-env pretrain --hold mobilenetv2 --steps 450 --out runs/held
    python tests/transfer_table.py --out transfer.jsonl [--seeds 5] [--table] \\
        [--prior runs/held/prior.safetensors] [--constructing]

Each line of the file has the values in multiples of the proven optimum, of 96 episodes: 32 draws of
a layer for each of three seeds, the same starts for every method. A line that is there is not
measured again. Policies are trained by ``examples/train_transfer.py`` and ``train_construct.py``. A
move is an evaluation; of those that construct mappings, a proposal.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from maestro_env.environments.moves import moves_of
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.experiments.shown.plots import new_figure, save
from maestro_env.experiments.shown.statistics import bootstrap_interval, log_mean
from maestro_env.mappers import make_mapper
from maestro_env.mappers.parts.threads import one_thread

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

TESTS = ("network", "accelerator", "both")
HELD_LAYERS = ("network", "both")
PRIOR = "prior, trained without these layers"
STARTS, DRAWS = (101, 102, 103), 32
MARKS = (1, 10, 30, 100, 500)
BUDGETS = (30, 100, 150, 200, 300, 500, 1000, 2000, 10000)
MOVES = 1_000_000
DECISIONS = 1_000_000

Floats = NDArray[np.float64]


class Starts:
    """The mappings from which all methods begin: of ``problems`` the ``points`` and ``optima``."""

    def __init__(self, test: str) -> None:
        self.problems, self.points, optima = [], [], []
        for seed in STARTS:
            envs: Any = gymnasium.make_vec(
                f"maestro_env/transfer-{test}-v1",
                DRAWS,
                vectorization_mode="vector_entry_point",
                info="full",
            ).unwrapped
            _, info = envs.reset(seed=seed)
            tasks = {task.problem.layer.name: task for task in envs._tasks}
            self.objective = envs._tasks[0].objective
            self.problems += [tasks[name].problem for name in envs.layers]
            self.points += list(info["vector"])
            optima.append(info["optimum"])
        self.optima = np.concatenate(optima)

    def searched(self, mapper: str, moves: int, seed: int) -> Floats:
        """Value / optimum after each move of a mapper, float64[moves + 1, episodes]."""
        found = []
        for place, (problem, point) in enumerate(zip(self.problems, self.points, strict=True)):
            evaluator = Evaluator(problem, self.objective, moves + 1, start=point[np.newaxis])
            rng = np.random.default_rng([seed, place])
            make_mapper(mapper).search(evaluator, moves + 1, rng)
            values, status = evaluator.trace
            found.append(np.where(status == 0, values, np.inf))
        return np.array(found).T / self.optima

    def redrawn(self, moves: int, seed: int) -> Floats:
        """The same of masked draws from anew, one after the other."""
        found = []
        for place, (problem, point) in enumerate(zip(self.problems, self.points, strict=True)):
            rng = np.random.default_rng([seed, place])
            drawn = problem.space.clipped(Masks(problem).sample(moves, rng))
            found.append(problem.score(np.vstack([point, drawn]), self.objective)[0])
        return np.array(found).T / self.optima

    def annealed(self, moves: int) -> Floats:
        """The best value / optimum of annealing that ends after so many moves, [1, episodes]."""
        best: Floats = self.searched("annealing", moves, 0).min(axis=0, keepdims=True)
        return best

    def clairvoyant(self, moves: int) -> Floats:
        """The same of an agent that makes the best of all moves, whose outcomes it is told."""
        found = [
            self._greedy(*each, moves) for each in zip(self.problems, self.points, strict=True)
        ]
        return np.array(found).T / self.optima

    def _greedy(self, problem: Any, point: NDArray[np.int32], moves: int) -> list[float]:
        every = moves_of(problem.space)
        numbers = np.arange(len(every.names))[:, np.newaxis]
        made = np.ones(numbers.shape, dtype=np.bool_)
        trace = [float(problem.score(point[np.newaxis], self.objective)[0][0])]
        for _ in range(moves):
            present = np.tile(point, (len(numbers), 1))
            around = problem.space.clipped(every.native.after(present, numbers, made))
            values, _ = problem.score(around, self.objective)
            if values.min() >= trace[-1]:
                break
            point = around[values.argmin()]
            trace.append(float(values.min()))
        return trace + [trace[-1]] * (moves + 1 - len(trace))


def policies(name: str, seed: int, **options: str) -> dict[str, Floats]:
    """Train a policy, and return what it does in each test."""
    from train_transfer import improved, train

    policy = train(f"transfer-{name}", seed, MOVES, **options)
    return {test: improved(policy, f"transfer-{test}", STARTS, DRAWS, **options) for test in TESTS}


def constructed(seed: int, moves: int) -> dict[str, Floats]:
    """Train a policy that constructs mappings, and return its proposals; untrained, random ones."""
    from train_construct import Constructor, proposed, train

    trained = train("construct-train-wide", seed, moves, Constructor, gamma=1.0) if moves else None
    found = {}
    for test in TESTS:
        proposals = proposed(trained, f"construct-{test}", STARTS, DRAWS, 100)
        # There is no mapping before the first one.
        found[test] = np.concatenate([proposals[:1], proposals])
    return found


LEARNT = "PPO, bottlenecks, random problems"
PPO: dict[str, tuple[str, dict[str, str]]] = {
    LEARNT: ("train-wide", {}),
    "PPO, bottlenecks": ("train", {}),
    "PPO": ("train", {"observation": "context"}),
}
CONSTRUCTED = "PPO that constructs, random problems"
TRAINED = (*PPO, CONSTRUCTED)
DRAWN = (
    "new draws",
    "annealing",
    "Bayesian optimisation",
    "greedy, told all outcomes",
    LEARNT,
    CONSTRUCTED,
    PRIOR,
)
SHOWN = (1, 2, 5, 10, 20, 50, 100)
SEARCHES = {
    "random moves": "random_moves",
    "hill climbing": "hill_climbing",
    "annealing": "annealing",
}


def jobs(
    seeds: int, prior: str, constructing: bool
) -> Iterator[tuple[str, int, Callable[[], dict[str, Floats]]]]:
    """Yield the name and the seed of each method, and what measures it."""
    starts: dict[str, Starts] = {}

    def of_each(
        measure: Callable[[Starts], Floats], tests: Sequence[str] = TESTS
    ) -> dict[str, Floats]:
        if not starts:
            starts.update({test: Starts(test) for test in TESTS})
        return {test: measure(starts[test]) for test in tests}

    yield "greedy, told all outcomes", 0, lambda: of_each(lambda each: each.clairvoyant(500))
    yield "Bayesian optimisation", 0, lambda: of_each(lambda each: each.searched("bo", 500, 0))
    for seed in range(seeds):
        yield "new draws", seed, lambda s=seed: of_each(lambda each: each.redrawn(500, s))
    for seed, (name, mapper) in product(range(seeds), SEARCHES.items()):
        yield name, seed, lambda m=mapper, s=seed: of_each(lambda e: e.searched(m, 500, s))
    if prior:
        mapper = f"prior:file={prior}"
        yield PRIOR, 0, lambda: of_each(lambda e: e.searched(mapper, 500, 0), HELD_LAYERS)
    for budget in BUDGETS:
        name = f"annealing in {budget:,}"
        yield name, 0, lambda b=budget: of_each(lambda e: e.annealed(b))
    for (name, (trained, options)), seed in product(PPO.items(), range(seeds)):
        yield name, seed, lambda t=trained, o=options, s=seed: policies(t, s, **o)
    if constructing:
        yield "random decisions", 0, lambda: constructed(0, 0)
    for seed in range(seeds * constructing):
        yield CONSTRUCTED, seed, lambda s=seed: constructed(s, DECISIONS)


def measured(trace: Floats) -> dict[str, list[float]]:
    """Return the best of each episode after some moves; of one row, at the end."""
    best = np.minimum.accumulate(trace, axis=0)
    marks = [mark for mark in (0, *MARKS) if mark < len(best)]
    return {str(mark): best[mark].round(6).tolist() for mark in marks}


def cell(rows: list[dict[str, Any]], test: str, mark: str) -> str:
    """Return the geometric mean over episodes and seeds, and its interval over episodes."""
    return shown(episodes(rows, test, mark)) if mark in rows[0]["tests"][test] else ""


def spread(rows: list[dict[str, Any]], test: str, mark: str) -> str:
    """Return the lowest and the highest geometric mean over episodes of a seed."""
    if mark not in rows[0]["tests"][test]:
        return ""
    means = [log_mean(np.array(row["tests"][test][mark])) for row in rows]
    return f"{min(means):.2f} to {max(means):.2f}"


def episodes(rows: list[dict[str, Any]], test: str, mark: str) -> Floats:
    """Return the geometric mean over seeds of each episode, float64[episodes]."""
    return log_mean(np.array([row["tests"][test][mark] for row in rows]))


def shown(values: Floats) -> str:
    """Return a geometric mean and its 95 % interval, bootstrap over episodes."""
    low, high = bootstrap_interval(values, figure=log_mean)
    return f"{log_mean(values):.2f} [{low:.2f}, {high:.2f}]"


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield x optimum after so many moves, for each test; CPU-seconds; leads over annealing."""
    names = [*dict.fromkeys(row["method"] for row in rows)]
    for test in TESTS:
        yield f"| {test} | seeds | {' | '.join(map(str, MARKS))} | CPU s |"
        yield "|---|---:|---:|---:|---:|---:|---:|---:|"
        for name in (each for each in names if " in " not in each):
            of_name = [row for row in rows if row["method"] == name and test in row["tests"]]
            if not of_name:
                continue
            cells = [cell(of_name, test, str(mark)) for mark in MARKS]
            seconds = np.mean([row["seconds"] for row in of_name])
            yield f"| {name} | {len(of_name)} | {' | '.join(cells)} | {seconds:.0f} |"
            if name in TRAINED and len(of_name) > 1:
                ranges = [spread(of_name, test, str(mark)) for mark in MARKS]
                yield f"| lowest to highest seed | | {' | '.join(ranges)} | |"
        of = {name: [r for r in rows if r["method"] == name] for name in (LEARNT, "annealing")}
        if all(of.values()):
            pairs = [[episodes(each, test, str(m)) for each in of.values()] for m in MARKS]
            ratios = [shown(policy / search) for policy, search in pairs]
            yield f"| {LEARNT} / annealing | | {' | '.join(ratios)} | |"
    for row in (each for each in rows if " in " in each["method"]):
        yield f"| {row['method']} | {' | '.join(cell([row], test, '0') for test in TESTS)} |"


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw x optimum over moves, of some methods."""
    figure = new_figure((9, 3.2))
    for axes, test in zip(figure.subplots(1, 2, sharey=True), TESTS[:2], strict=True):
        for number, name in enumerate(DRAWN):
            of_name = [row for row in rows if row["method"] == name and test in row["tests"]]
            if of_name:
                marks = [mark for mark in MARKS if str(mark) in of_name[0]["tests"][test]]
                means = [log_mean(episodes(of_name, test, str(mark))) for mark in marks]
                axes.loglog(marks, means, marker="o", color=f"C{number}", label=name)
        axes.set(xlabel="moves", title=f"unseen {test}")
        axes.set_xticks(MARKS, [str(mark) for mark in MARKS])
        axes.set_yticks(SHOWN, [str(each) for each in SHOWN])
    figure.axes[0].set(ylabel="x optimum")
    labelled = figure.axes[0].get_legend_handles_labels()
    figure.legend(*labelled, loc="outside right center", frameon=False, fontsize=8)
    save(figure, path)


def main() -> None:
    """Measure what is not there yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("transfer.jsonl"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--prior", default="", help="weights of the command pretrain")
    parser.add_argument("--constructing", action="store_true", help="PPO that constructs, too")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in lines]
    there = {(row["method"], row["seed"]) for row in rows}
    for method, seed, measure in (
        () if given.table else jobs(given.seeds, given.prior, given.constructing)
    ):
        if (method, seed) in there:
            continue
        began = time.process_time()
        with one_thread():
            tests = {test: measured(trace) for test, trace in measure().items()}
        seconds = time.process_time() - began
        rows.append({"method": method, "seed": seed, "seconds": seconds, "tests": tests})
        with given.out.open("a") as file:
            file.write(json.dumps(rows[-1]) + "\n")
        sys.stdout.write(f"{method}, seed {seed}: {seconds:.0f} s\n")
        sys.stdout.flush()
    sys.stdout.write("\n".join(table(rows)) + "\n")
    draw(rows, given.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
