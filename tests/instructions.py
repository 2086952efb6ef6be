"""Instructions a random mapping takes: ``python tests/instructions.py [--write]``.

Counted by callgrind, so that a slowdown shows without a clock, on any machine however busy. The
figures in ``instructions.json`` hold for the compiler they are listed under; for all others there
are bounds in iterations of a loop that no change of the project alters.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from cpp import compiler_version, program

FIGURES = Path(__file__).with_suffix(".json")
CASES = (
    *("exact", "exact guarded", "exact alone", "maestro", "maestro guarded", "maestro alone"),
    "hierarchy",
)
REFERENCE = "reference"
SLACK = 0.1
CPU = Path("/proc/cpuinfo")
# g++ 12 and clang++ 14 are within 13 % of each other.
SLACK_ELSEWHERE = 0.25


def missing() -> str | None:
    """Return why instructions cannot be counted here."""
    if not shutil.which("valgrind"):
        return "needs valgrind (apt install valgrind)"
    # Other lanes take other counts.
    flags = CPU.read_text(encoding="utf-8") if CPU.exists() else ""
    return None if re.search(r"\bavx2\b", flags) else "needs a processor with AVX2"


@cache
def per_unit(case: str, compiler: str = "g++") -> float:
    """Return instructions a mapping, or an iteration of the reference loop."""
    ended = subprocess.run(
        [
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
            *("--collect-atstart=no", "--toggle-collect=measured"),
            *(str(program("instructions", compiler=compiler).path()), *case.split()),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    counted = re.search(r"Collected : (\d+)", ended.stderr)
    assert counted, ended.stderr
    return int(counted[1]) / int(ended.stdout.split()[0])


def ratio(case: str, compiler: str = "g++") -> float:
    """Return instructions a mapping in iterations of the reference loop."""
    return per_unit(case, compiler) / per_unit(REFERENCE, compiler)


def figures() -> dict[str, Any]:
    """Return what is committed: instructions by compiler and case, bounds elsewhere by case."""
    committed: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return committed


def complaint(case: str, count: float, iterations: float, compiler: str) -> str | None:
    """Return what is wrong with a count of instructions a mapping.

    Args:
        case: of ``CASES``.
        count: instructions a mapping.
        iterations: the same in iterations of the reference loop.
        compiler: its version.
    """
    known = figures()["compilers"].get(compiler)
    if known is None:
        bound = figures()["elsewhere"][case]
        if iterations <= bound:
            return None
        return f"{case}: {iterations:.1f} reference iterations a mapping, at most {bound} allowed"
    change = count / known[case] - 1
    if abs(change) <= SLACK:
        return None
    return (
        f"{case}: {count:.0f} instructions a mapping, {change:+.0%} of the committed "
        f"{known[case]}; if that is meant: python tests/instructions.py --write"
    )


def write() -> None:
    """Write the figures of this compiler, and the bounds elsewhere that follow from them."""
    committed = figures() if FIGURES.exists() else {"compilers": {}}
    committed["compilers"][compiler_version()] = {case: round(per_unit(case)) for case in CASES}
    committed["elsewhere"] = {case: round(ratio(case) * (1 + SLACK_ELSEWHERE), 1) for case in CASES}
    FIGURES.write_text(json.dumps(committed, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"commit to {FIGURES.name}")
    given = parser.parse_args()
    if why := missing():
        sys.exit(f"counting instructions {why}")
    for case in CASES:
        count, iterations = per_unit(case), ratio(case)
        sys.stdout.write(
            f"{case}: {count:.0f} instructions a mapping, {iterations:.0f} iterations\n"
        )
    if given.write:
        write()


if __name__ == "__main__":
    main()
