"""What a worker of a cluster does: run works in a directory of its own, and return their files.

It imports no Ray, so that tests and other engines can call it.
"""

from __future__ import annotations

import pickle
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from maestro_env.experiments.store.records import Record, Versions, versions


@dataclass(frozen=True)
class Outcome:
    """What became of a work.

    Args:
        files: what it wrote, by paths relative to its directory; the record, if any, is the last.
        failure: the line that tells of its failure; None if it succeeded.
        seconds: it took.
    """

    files: Mapping[str, bytes]
    failure: str | None
    seconds: float


def run_works(pickled: bytes, asked: Versions) -> list[Outcome] | str:
    """Run pickled works one after the other; return why not, in words, if versions differ."""
    here = _versions()
    differing = [
        f"{name} is {here[name]}, not {asked[name]}" for name in asked if here[name] != asked[name]
    ]
    if differing:
        return f"node {platform.node()}: {', '.join(differing)}"
    with TemporaryDirectory(prefix="maestro-env-") as place:
        return [_run(work, Path(place)) for work in pickle.loads(pickled)]


# Asking git takes longer than a short search.
_versions = cache(versions)


def _run(work: Record[Any], place: Path) -> Outcome:
    began = time.perf_counter()
    here = replace(work, directory=place)
    try:
        failure = here.run(lambda *_: None)
        if failure is not None:
            failure = failure.replace(str(place), str(work.directory))
        files = {str(path.relative_to(place)): _taken(path) for path in _written(here)}
    except Exception as error:  # noqa: BLE001 (the other works of this task go on)
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        told = f"failed: {work}: {reason} (node {platform.node()}); {work.again} runs it again"
        files, failure = {}, told
    return Outcome(files, failure, time.perf_counter() - began)


def _written(work: Record[Any]) -> list[Path]:
    """Return the files in a work's directory; the record, which says that all is there, last."""
    paths = (path for path in work.directory.rglob("*") if path.is_file())
    return sorted(paths, key=lambda path: (path == work.path, path))


def _taken(path: Path) -> bytes:
    """Read a file and remove it; directories stay for the next work, as removing them is slow."""
    data = path.read_bytes()
    path.unlink()
    return data
