"""Coverage-guided fuzzing of the evaluator: ``python tests/fuzz_evaluator.py --seconds 600``.

Any bytes are a layer, a machine and directive lists, for both models under the address and
undefined-behaviour sanitizers; then for as long, a layer, a machine and points of a map space,
together and one by one; then a shape, any memories, points and a mapping. Needs clang with its
libFuzzer (apt install clang libclang-rt-dev). What it learns, and an input that fails, stays in
``build/fuzz``.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from cpp import ROOT, program

CORPORA = ROOT / "build" / "fuzz"
SANITIZE = (
    *("-std=c++20", "-O1", "-g", "-ffp-contract=off"),
    *("-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"),
)
TARGETS = ("fuzz_evaluator", "fuzz_batches", "fuzz_hierarchy")
LONGEST = 400  # bytes of an input


def missing() -> str | None:
    """Return why this machine cannot fuzz."""
    return None if shutil.which("clang++") else "needs clang (apt install clang libclang-rt-dev)"


def target(driver: str) -> Path:
    """Return the program of a target."""
    return program(driver, flags=SANITIZE, compiler="clang++").path()


def command(program: Path, seconds: int, corpus: Path) -> list[str]:
    """Return the command that fuzzes; its status is other than 0 after a finding."""
    corpus.mkdir(parents=True, exist_ok=True)
    options = (f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-artifact_prefix={corpus}-")
    return [str(program), *options, "-print_final_stats=1", str(corpus)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    given = parser.parse_args()
    if why := missing():
        sys.exit(f"fuzzing the evaluator {why}")
    for fuzzer in map(target, TARGETS):
        corpus = CORPORA / fuzzer.name
        subprocess.run(command(fuzzer, given.seconds, corpus), check=True)


if __name__ == "__main__":
    main()
