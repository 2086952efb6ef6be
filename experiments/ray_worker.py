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

from experiments.cells import Versions
from experiments.machine import versions
from experiments.works import Work
from maestro_env.errors import printable


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
    return [_run(work) for work in pickle.loads(pickled)]


# Asking git takes longer than a short search.
_versions = cache(versions)


def _run(work: Work) -> Outcome:
    began = time.perf_counter()
    try:
        with TemporaryDirectory(prefix="maestro-env-") as name:
            place = Path(name)
            here = replace(work, directory=place)
            failure = here.run(lambda *_: None)
            if failure is not None:
                failure = failure.replace(name, printable(str(work.directory)))
            # The record says that all is there, so it is written last.
            paths = sorted(
                (path for path in place.rglob("*") if path.is_file()),
                key=lambda path: (path == here.path, path),
            )
            found = {str(path.relative_to(place)): path.read_bytes() for path in paths}
    except Exception as error:  # noqa: BLE001 (the other works of this task go on)
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        told = f"failed: {work}: {reason} (node {platform.node()}); {work.again} runs it again"
        found, failure = {}, printable(told)
    return Outcome(found, failure, time.perf_counter() - began)
