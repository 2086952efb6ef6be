"""A search that needs nothing of this package, to enter the benchmark with (docs/benchmark.md).

maestro-env benchmark run 'program:python3 examples/json_lines.py'

It changes one or two parameters of the best mapping, and draws new mappings until one is valid.
"""

import json
import random
import sys

problem = json.loads(sys.stdin.readline())
choices = [len(parameter["values"]) for parameter in problem["parameters"]]
rng = random.Random(problem["seed"])
best, least, remaining = None, float("inf"), problem["budget"]
while remaining:
    vector = [rng.randrange(count) for count in choices]
    if best is not None:
        changed = rng.sample(range(len(choices)), rng.choice((1, 2)))
        vector = [vector[i] if i in changed else best[i] for i in range(len(choices))]
    print(json.dumps({"ask": [vector]}), flush=True)
    answer = json.loads(sys.stdin.readline())
    (value,), remaining = answer["tell"], answer["remaining"]
    if value is not None and value <= least:
        best, least = vector, value
