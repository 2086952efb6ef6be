"""Where a result was computed: versions, commit, processor."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("maestro-env", "numpy", "scipy", "gymnasium")


def versions() -> dict[str, str | None]:
    """Return the versions of everything that computes, and the commit if there is one."""
    packages = {name: version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **packages, "commit": _commit()}


def processor() -> str:
    """Return the name of the host's CPU model."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    models = [line for line in text.splitlines() if line.startswith("model name")]
    return models[0].partition(":")[2].strip() if models else platform.machine()


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
