"""Runs ``maestro-env run`` on random problems: all must end well, with all their files.

    python tests/random_runs.py --count 500 --seed 0 --jobs 2

Each is a process that is forked from this one, which has imported what all of them need. One that
fails is printed with its command line.
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

from experiments.shell import cli
from experiments.shell.files import read_json
from maestro_env.accelerators.finding import built_chips
from maestro_env.workloads.finding import all_layers

LAYERS = [layer.name for layer in all_layers()]
MEMORIES = ["random", "random_log", "ga", "ga_log", "pbil", "bo", "optuna"]
MAPPERS = [*MEMORIES, *("gamma", "library", "marl", "marl_clustered", "marl_paper", "optimum")]
MAPPERS += ["prior", "prior_adapted", "marl_mlp", "maddpg", "qmix", "ppo", "ppo_box"]
SLOW = ("torch", "stable_baselines3", "optuna", "sklearn.gaussian_process", "scipy.stats")
FILES = ("config.json", "trace.csv.gz", "summary.json", "convergence.png")
BEST = ("best_cost.json", "best_mapping.json", "best_mapping.txt")
PATIENCE = 600
FORK = multiprocessing.get_context("fork")


def between(rng: Random, least: int, most: int) -> int:
    """Draw a number whose logarithm is uniform."""
    return round(least * (most / least) ** rng.random())


def layer(rng: Random) -> str:
    """Draw a layer of the zoo, a matrix product or a convolution."""
    kind, window = rng.randrange(4), rng.choice([1, 1, 2, 3, 5, 7])
    if kind == 0:
        return rng.choice(LAYERS)
    if kind == 1:
        return "gemm:" + ",".join(f"{dim}={between(rng, 1, 4096)}" for dim in "MNK")
    high, wide = (between(rng, window, 224) for _ in "YX")
    sizes = f"C={between(rng, 1, 1024)},Y={high},X={wide},R={window},S={window}"
    stride = rng.randint(1, min(3, window))
    return f"conv:K={between(rng, 1, 1024)},{sizes},stride={stride}"


def fields(rng: Random) -> str:
    """Draw an accelerator with two buffers."""
    return (
        f"num_pes={between(rng, 1, 2**14)},l1_bytes={between(rng, 8, 2**14)},"
        f"l2_bytes={between(rng, 64, 2**24)},noc_bw={between(rng, 1, 2**11)},"
        f"offchip_bw={between(rng, 1, 2**8)}"
    )


def flags(rng: Random) -> list[str]:
    """Draw a problem, mappers and samples."""
    of_memories = rng.random() < 0.2
    chips = [*built_chips()] if of_memories else ["unlimited", "edge", "cloud"]
    preset = of_memories or rng.random() < 0.3
    objectives = ["latency", "energy", "edp", *([] if of_memories else ["area", "latency*area"])]
    mappers = rng.sample(MEMORIES if of_memories else MAPPERS, rng.choice([1, 1, 1, 2, 4]))
    given = {
        "layer": layer(rng),
        "hardware": rng.choice(chips) if preset else fields(rng),
        "objective": rng.choice(objectives),
        "mapper": ",".join(mappers),
        "samples": between(rng, 1, 200),
        "seeds": rng.choice([1, 1, 1, 2, 5]),
        "seed": rng.randrange(1000),
    }
    if not of_memories and rng.random() < 0.1 and "optimum" not in mappers:
        given["model"] = "maestro"
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
        return f"runs longer than {PATIENCE} s"
    told = (place / "err").read_text(errors="replace")
    if process.exitcode or "could not be drawn" in told or "Traceback" in told:
        return f"status {process.exitcode}: {told[-2000:]}"
    found = read_json(place / "run" / "summary.json")["mappers"].values()
    best = BEST if any(each["seeds"][0]["best"] is not None for each in found) else ()
    lost = [name for name in (*FILES, *best) if not (place / "run" / name).stat().st_size]
    return f"empty: {lost}" if lost else ""


def share(given: argparse.Namespace, part: int) -> None:
    """Run every so many of them; end with status 1 if one fails."""
    numbers, failed = range(given.first + part, given.count, given.jobs), 0
    for done, number in enumerate(numbers, start=1):
        line, wrong = flags(Random(f"{given.seed} {number}")), "a file is missing"
        with TemporaryDirectory() as place, contextlib.suppress(FileNotFoundError):
            wrong = complaint(line, Path(place))
        if wrong:
            failed += 1
            sys.stdout.write(f"{number} failed: maestro-env run {shlex.join(line)}\n{wrong}\n")
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
