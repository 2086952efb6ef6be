"""Types and the suite in a fresh environment for each extra, a row each in ``data/extras.csv``.

``python tests/extras.py`` makes the rows that are missing, in about four minutes each; a row
that is deleted is made again. Needs pip's index; the core is compiled once.
"""

from __future__ import annotations

import csv
import os
import re
import resource
import subprocess
import sys
import time
import tomllib
import venv
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).parent / "data" / "extras.csv"
COLUMNS = (
    "extras",
    "mypy",
    "passed",
    "skipped",
    "failed",
    "cpu_seconds",
    "wall_seconds",
    "load",
    "date",
    "commit",
)
# Not for users, or with versions of its own that others cannot share.
APART = {"dev", "rllib", "test"}


def sets() -> list[str]:
    """Names of extras that are installed together: the tests' alone, with each, with all."""
    facts = tomllib.loads((ROOT / "pyproject.toml").read_text())
    each = sorted(facts["project"]["optional-dependencies"].keys() - APART)
    return ["test", *(f"test,{name}" for name in each), f"test,{','.join(each)}", "test,rllib"]


def install(folder: Path, extras: str, wheel: Path) -> Path:
    """Make an environment and return its Python."""
    venv.create(folder, with_pip=True)
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    if "rllib" in extras:
        constraints = [line for line in constraints if not line.startswith("gymnasium==")]
    (folder / "constraints.txt").write_text("\n".join(constraints))
    python = folder / "bin" / "python"
    asked = ["--constraint", folder / "constraints.txt", f"maestro-env[{extras}] @ file://{wheel}"]
    # The tests of builds and types need these two.
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *asked, "pybind11", "setuptools"], check=True
    )
    return python


def row(extras: str, python: Path, cache: Path) -> dict[str, object]:
    before, start, load = (
        resource.getrusage(resource.RUSAGE_CHILDREN),
        time.monotonic(),
        os.getloadavg(),
    )
    path = f"{python.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}

    def output(*command: str | Path) -> str:
        asked = [python, "-m", *command]
        ended = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True)
        return ended.stdout + ended.stderr

    types = output("mypy", "--cache-dir", cache).splitlines()[-1]
    suite = output("pytest", "-q", "-n", "auto", "--dist", "worksteal", "-p", "no:cacheprovider")
    failed = [line for line in suite.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print(*failed, sep="\n", file=sys.stderr)  # noqa: T201
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {kind: number for number, kind in re.findall(r"(\d+) (\w+)", suite.splitlines()[-1])}
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "extras": extras,
        "mypy": "passed" if types.startswith("Success") else types,
        "passed": found.get("passed", "0"),
        "skipped": found.get("skipped", "0"),
        "failed": len(failed),
        "cpu_seconds": round(seconds),
        "wall_seconds": round(time.monotonic() - start),
        "load": f"{load[0]:.1f}",
        "date": date.today().isoformat(),
        "commit": commit.strip(),
    }


def main() -> None:
    rows = list(csv.DictReader(TABLE.open())) if TABLE.exists() else []
    missing = [extras for extras in sets() if extras not in {each["extras"] for each in rows}]
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                "--wheel-dir",
                place,
                ROOT,
            ],
            check=True,
        )
        (wheel,) = place.glob("*.whl")
        for number, extras in enumerate(missing):
            print(f"{number + 1} of {len(missing)}: {extras}", file=sys.stderr)  # noqa: T201
            folder = place / str(number)
            rows.append(row(extras, install(folder, extras, wheel), folder / "mypy"))
            with TABLE.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
