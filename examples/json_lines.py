"""Simulated annealing that needs nothing of this package, for the benchmark (docs/benchmark.md).

maestro-env benchmark run 'program:python3 examples/json_lines.py'
"""

import json
import random
import sys

problem = json.loads(sys.stdin.readline())
parameters, rng = problem["parameters"], random.Random(problem["seed"])
present, least = [0] * len(parameters), None  # the smallest sizes, as they fit
moved, remaining = present, problem["budget"]
while remaining:
    print(json.dumps({"ask": [moved]}), flush=True)
    answer = json.loads(sys.stdin.readline())
    (value,), remaining = answer["tell"], answer["remaining"]
    heat = 0.3 * remaining / problem["budget"] + 1e-9
    if value and (not least or value < least or rng.random() < (least / value) ** (1 / heat)):
        present, least = moved, value
    moved, place = list(present), rng.randrange(len(parameters))
    last, choice = len(parameters[place]["values"]) - 1, present[place]
    moved[place] = rng.randint(0, last)
    if parameters[place]["kind"] in ("tile", "cluster"):  # sizes: one less or more, half, double
        size = rng.choice((choice - 1, choice + 1, (choice - 1) // 2, 2 * choice + 1))
        moved[place] = min(max(size, 0), last)
