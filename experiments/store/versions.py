"""Where a result was computed: versions, commit, processor."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from maestro_env.evaluation.models import FIGURES_VERSION
from maestro_env.experiments.shell.files import COST_MODELS

Versions = dict[str, str | None]
"""Versions by package, the commit and the processor; None for what there is none of."""

_PACKAGES = ("maestro-env", "numpy", "scipy", "gymnasium")
# What decides which points a search from a seed looks at, and their values.
_SEARCHES = "experiments/search/searches.py"
_OTHERS = ("numpy", "scipy", "scikit-learn", "stable-baselines3", "torch")


def versions() -> Versions:
    """Return the versions of everything that computes, and the commit if there is one."""
    packages = {name: _installed(name) for name in _PACKAGES}
    here = {"python": platform.python_version(), COST_MODELS: FIGURES_VERSION}
    return {**here, **packages, "commit": _commit()}


def made_here(*packages: str) -> Versions:
    """Return what records tell of where they are made: ``versions``, processor, other packages."""
    return {
        **versions(),
        "processor": processor(),
        **{package: version(package) for package in packages},
    }


def processor() -> str:
    """Return the name of the host's CPU model."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    models = [line for line in text.splitlines() if line.startswith("model name")]
    return models[0].partition(":")[2].strip() if models else platform.machine()


def code_digest() -> str:
    """Return a digest of all code that decides a search, the compiled core and packages included.

    It takes no commit to change it, nor does anything change it that no search depends on.
    """
    digest = hashlib.sha256(" ".join(str(_installed(name)) for name in _OTHERS).encode())
    package = Path(__file__).parents[2]
    # What experiments/ has more runs searches, and changes none.
    rooms = [room for room in package.iterdir() if room.name != "experiments"]
    files = [path for each in (package / _SEARCHES, *rooms) for path in _files(each)]
    for path in sorted(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _files(room: Path) -> list[Path]:
    """Return what lies in a folder, which may be a link to one, and a file itself."""
    below = [path for path in room.rglob("*") if "__pycache__" not in path.parts]
    return [path for path in (room, *below) if path.is_file()]


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of the repository that tracks this file, marked if it is edited."""
    # Installed code may lie inside a repository that is not its own.
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
