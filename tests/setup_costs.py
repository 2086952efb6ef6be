"""Searches with a slow simulator of one's own: samples and seconds to come near the best known.

python tests/setup_costs.py SEEDS MAPPER...    on four layers, e.g. 5 marl bo masac
python tests/setup_costs.py sleep MAPPER       one search of 200 samples that does take that long

The simulator adds 1,000 cycles of setup for each tile of L2 to the latency of ``exact``, and takes
5 ms for a sample. Seconds are those of the search's processor time plus 5 ms for each sample; only
with ``sleep`` does the program wait for them. The best known is the best of all these searches and
of 20,000 samples of ``marl``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maestro_env import MapSpace, Problem, find_hardware, find_layer, find_objective
from maestro_env.evaluation.cost_and_status import OK, Rows
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.experiments.shown.statistics import iqm
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.space import Points

LAYERS = ("mobilenetv2_l2", "vgg16_l2", "resnet50_l2", "bert_base_l4")
SAMPLES, SECONDS, SETUP, NEAR = 2000, 0.005, 1000.0, 1.05
LATENCY = find_objective("latency")
Floats = NDArray[np.float64]


class Simulated(Problem):
    """A problem whose latency has the setup of all tiles of L2 too."""

    sleeps = False

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        rows = super().evaluate(points, threads)
        tiles = np.ones(len(points))
        for column, parameter in enumerate(self.space.parameters):
            if parameter.name.startswith("l2_tile_"):
                sizes = np.array(parameter.values)
                tiles *= np.ceil(sizes[-1] / sizes[points[:, column]])
        rows.metrics[:, 0] += SETUP * tiles
        if self.sleeps:
            time.sleep(SECONDS * len(points))
        return rows

    def score(
        self, points: Points, objective: Objective, threads: int = 1
    ) -> tuple[Floats, NDArray[np.uint8]]:
        rows = self.evaluate(points, threads)
        values = objective.function(rows.metrics)
        return np.where(rows.status == OK, values, np.inf), rows.status


class Search(NamedTuple):
    """A search's best value and processor seconds after each sample, float64[samples]."""

    bests: Floats
    clock: Floats

    def until(self, target: float) -> tuple[float, float]:
        """Return samples and seconds to a value at most this; infinite if there is none."""
        reached = np.flatnonzero(self.bests <= target)
        if not len(reached):
            return np.inf, np.inf
        return float(reached[0] + 1), float(self.clock[reached[0]] + SECONDS * (reached[0] + 1))


def search(problem: Problem, mapper: str, seed: int, samples: int = SAMPLES) -> Search:
    clock = np.zeros(samples)
    began = 0

    def tick(evaluator: Evaluator) -> None:
        nonlocal began
        clock[began : evaluator.used] = time.process_time()
        began = evaluator.used

    evaluator = Evaluator(problem, LATENCY, samples, on_batch=tick)
    start = time.process_time()
    make_mapper(mapper).search(evaluator, samples, np.random.default_rng(seed))
    return Search(np.minimum.accumulate(evaluator.trace[0]), clock - start)


def compare(mappers: Sequence[str], seeds: int) -> None:
    problems = [Simulated(MapSpace(find_layer(layer), find_hardware("edge"))) for layer in LAYERS]
    longer = [search(each, "marl", seeds, 20_000).bests[-1] for each in problems]
    found: dict[str, list[list[Search]]] = {}
    for mapper in mappers:
        search(problems[0], mapper, 0, 100)  # To import libraries takes no search's time.
        found[mapper] = [[search(each, mapper, seed) for seed in range(seeds)] for each in problems]
        ends = [min(each.bests[-1] for each in own) for own in found[mapper]]
        tell(f"{mapper}: {' '.join(f'{each:.6g}' for each in ends)}")
    least = [
        min(known, *(each.bests[-1] for rows in found.values() for each in rows[number]))
        for number, known in enumerate(longer)
    ]
    tell("| mapper | near the best | samples | seconds | after 100 | 500 | 2,000 |")
    for mapper, rows in found.items():
        goals = list(zip(rows, least, strict=True))
        needed = np.array([each.until(NEAR * goal) for own, goal in goals for each in own])
        bests = np.array([[each.bests / goal for each in own] for own, goal in goals])
        above = np.exp(np.log(iqm(bests.swapaxes(0, 1))).mean(axis=0))[[99, 499, SAMPLES - 1]]
        samples, seconds = np.median(needed, axis=0)
        near = f"{np.isfinite(needed[:, 0]).sum()} of {len(needed)}"
        shown = " | ".join(f"{each:.3f}" for each in above)
        tell(f"| {mapper} | {near} | {samples:,.0f} | {seconds:.1f} | {shown} |")


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def sleep(mapper: str, samples: int = 200) -> None:
    problem = Simulated(MapSpace(find_layer(LAYERS[0]), find_hardware("edge")))
    Simulated.sleeps = True
    search(problem, mapper, 0, samples)
    began = time.perf_counter()
    computed = search(problem, mapper, 0, samples).clock[-1] + SECONDS * samples
    tell(f"{mapper}: {time.perf_counter() - began:.2f} s; computed {computed:.2f} s")


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    if first == "sleep":
        sleep(rest[0])
    else:
        compare(rest, int(first))
