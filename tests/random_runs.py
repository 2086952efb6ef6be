"""Runs ``maestro-env run`` on random problems: all must end well, with all their files.

    python tests/random_runs.py --count 500 --seed 0 --jobs 2

Each is forked from this process, which has imported what it needs; one that fails is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import shlex
import sys
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from maestro_env.accelerators.finding import chips_with
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import read_json
from maestro_env.workloads.finding import all_layers

LAYERS = [layer.name for layer in all_layers()]
ANY_MEMORIES = ["random", "random_log", "ga", "ga_log", "pbil", "bo", "optuna"]
MAPPERS = [*ANY_MEMORIES, "gamma", "library", "marl", "marl_clustered", "marl_paper", "optimum"]
MAPPERS += ["prior", "prior_adapted", "marl_mlp", "maddpg", "qmix", "ppo", "ppo_box"]
SLOW = (
    "maestro_env.experiments.commands.run",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "torch",
)
FILES = ("config.json", "trace.csv.gz", "summary.json", "convergence.png")
BEST = ("best_cost.json", "best_mapping.json", "best_mapping.txt")
PATIENCE = 600
FORK = multiprocessing.get_context("fork")


def between(rng: Random, least: int, most: int) -> int:
    """Draw a number whose logarithm is uniform."""
    return round(least * (most / least) ** rng.random())


def layer(rng: Random) -> str:
    """Draw a layer of the zoo, a matrix product or a convolution."""
    window = rng.choice([1, 1, 2, 3, 5, 7])
    if rng.random() < 0.5:
        product = "gemm:" + ",".join(f"{dim}={between(rng, 1, 4096)}" for dim in "MNK")
        return rng.choice([rng.choice(LAYERS), product])
    channels = ",".join(f"{dim}={between(rng, 1, 1024)}" for dim in "KC")
    sizes = ",".join(f"{dim}={between(rng, window, 224)}" for dim in "YX")
    stride = rng.randint(1, min(3, window))
    return f"conv:{channels},{sizes},R={window},S={window},stride={stride}"


def flags(rng: Random) -> list[str]:
    """Draw a problem, mappers and samples."""
    memories = rng.random() < 0.2
    most = {"num_pes": 2**14, "l1_bytes": 2**14, "l2_bytes": 2**24, "noc_bw": 2**11}
    fields = ",".join(f"{name}={between(rng, 1, most[name])}" for name in most)
    others = rng.choice([fields, fields, fields, "unlimited", "edge", "cloud"])
    objectives = ["latency", "energy", "edp", *([] if memories else ["area", "latency*area"])]
    mappers = rng.sample(ANY_MEMORIES if memories else MAPPERS, rng.choice([1, 1, 1, 2, 4]))
    bounded = memories or "optimum" in mappers or rng.random() < 0.9
    given = {
        "layer": layer(rng),
        "hardware": rng.choice([*chips_with("memories")]) if memories else others,
        "objective": rng.choice(objectives),
        "mapper": ",".join(mappers),
        "samples": between(rng, 1, 200),
        "seeds": rng.choice([1, 1, 1, 2, 5]),
        "seed": rng.randrange(1000),
        "model": "auto" if bounded else "maestro",
    }
    return [f"--{name}={value}" for name, value in given.items()]


def search(line: list[str], place: Path) -> None:
    """Be the command, whose output goes into files."""
    os.chdir(place)
    for number, name in enumerate(("out", "err"), start=1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
    sys.exit(cli.main("run", [*line, "--out=run"]))


def complaint(line: list[str], place: Path) -> str:
    """Run one; return what is wrong with it, empty if nothing is."""
    process = FORK.Process(target=search, args=(line, place))
    process.start()
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
    told = (place / "err").read_text(errors="replace")
    if process.exitcode or "could not be drawn" in told or not (place / "run" / FILES[2]).exists():
        return f"status {process.exitcode}: {told[-2000:]}"
    found = read_json(place / "run" / FILES[2])["mappers"].values()
    wanted = (*FILES, *BEST) if any(each["best"] is not None for each in found) else FILES
    there = {path.name for path in (place / "run").iterdir() if path.stat().st_size}
    return "".join(f"no {name} " for name in wanted if name not in there)


def share(given: argparse.Namespace, part: int) -> None:
    """Run every so many of them; end with status 1 if one fails."""
    numbers, failed = range(given.first + part, given.count, given.jobs), 0
    for done, number in enumerate(numbers, start=1):
        line = flags(Random(f"{given.seed} {number}"))
        with TemporaryDirectory() as place:
            if wrong := complaint(line, Path(place)):
                failed += 1
                sys.stdout.write(f"{number}: maestro-env run {shlex.join(line)}\n{wrong}\n")
        if done % 10 == 0 or done == len(numbers):
            sys.stdout.write(f"part {part}: {done} of {len(numbers)}, {failed} failed\n")
            sys.stdout.flush()
    sys.exit(bool(failed))


def main() -> None:
    """Run all of them in so many processes; end with status 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 500), ("seed", 0), ("first", 0), ("jobs", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    for name in SLOW:
        with contextlib.suppress(ImportError):
            import_module(name)
    parts = [FORK.Process(target=share, args=(given, part)) for part in range(given.jobs)]
    for each in parts:
        each.start()
    for each in parts:
        each.join()
    sys.exit(any(each.exitcode for each in parts))


if __name__ == "__main__":
    main()
