"""Writes the proof of an optimum as a file that another program checks (docs/optimum.md, 9)."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.hierarchy_file import hierarchy_text
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.optimum.memories import MemoriesSearch
from maestro_env.optimum.search import OptimumSearch, ProofSearch
from maestro_env.optimum.solving import prover

FORMAT = "maestro-env certificate 2"
FORMAT_OF_MEMORIES = "maestro-env certificate of any memories 2"
LONGEST_LIST = 16_384
"""Boxes of a block at most."""


@dataclass(frozen=True)
class Certificate:
    """What a certificate has.

    Args:
        digest: SHA-256 of its content before it is compressed, in hexadecimal.
        boxes: that are left out for their bounds.
        leaves: boxes whose mappings are to be evaluated.
        bytes: of the file.
    """

    digest: str
    boxes: int
    leaves: int
    bytes: int


def certify(
    problem: AnyProblem,
    objective: Objective,
    best: float | None,
    best_point: Points | None,
    bound: float,
    path: Path,
    threads: int = 1,
) -> Certificate:
    """Write the proof that no mapping costs less than a bound, which a search has found.

    It takes about as long as the search that found the bound. The file does not depend on threads.

    Args:
        problem: under the model ``exact`` or ``hierarchy``.
        objective: what is minimised.
        best: the least value known; None if no mapping is valid.
        best_point: a vector that has it, int32[D].
        bound: the least that any mapping costs, at most ``best``; infinite if none is valid.
        path: of the file; there is none if this is interrupted.
        threads: that share the work.

    Raises:
        OptimumError: a problem or an objective that has no bounds.
        OSError: the file cannot be written.
    """
    claim = (objective, best, best_point, bound)
    kind = prover(problem)
    kind.require(problem, objective)
    blocks = _CONTENTS[kind](problem, *claim, threads)
    digest, boxes, leaves = hashlib.sha256(), 0, 0
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
            for block in blocks:
                stream.write(block.content)
                digest.update(block.content)
                boxes += block.left_out
                leaves += block.leaves
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return Certificate(digest.hexdigest(), boxes, leaves, path.stat().st_size)


def _header(
    problem: Problem,
    objective: Objective,
    best: float | None,
    best_point: Points | None,
    bound: float,
) -> _Block:
    facts = {
        "format": FORMAT,
        "hardware": problem.hardware.record(),
        "schema": problem.space.schema,
        "tiles": problem.space.tiles,
    }
    return _Block(_line(facts | _claim(problem, objective, best, best_point, bound)))


def _claim(
    problem: AnyProblem,
    objective: Objective,
    best: float | None,
    best_point: Points | None,
    bound: float,
) -> dict[str, Any]:
    """Return what every header has."""
    layer, optimum = problem.layer, None
    if best is not None and best_point is not None:
        optimum = {"value": best, "point": np.asarray(best_point).tolist()}
    return {
        "layer": {
            "operator": layer.operator,
            "extents": dict(layer.extents),
            "stride": list(layer.stride),
        },
        "objective": {"name": objective.name, "factors": list(objective.factors)},
        "optimum": optimum,
        "bound": bound if math.isfinite(bound) else None,
    }


def _line(given: Any) -> bytes:
    return json.dumps(given, sort_keys=True).encode() + b"\n"


def _leaves(
    problem: HierarchyProblem,
    objective: Objective,
    best: float | None,
    best_point: Points | None,
    bound: float,
    threads: int,
) -> Iterator[_Block]:
    """Yield the content of a certificate on any memories: a header, and a line for each leaf."""
    facts = {
        "format": FORMAT_OF_MEMORIES,
        "accelerator": hierarchy_text(problem.hardware),
        "tiles": problem.space.tiles,
    }
    yield _Block(_line(facts | _claim(problem, objective, best, best_point, bound)))
    for leaf in MemoriesSearch(problem, objective).leaves(bound):
        # The line of the MACs follows from the units.
        lines = [
            [each.energy, each.latency, [[*port, share] for port, share in each.shares.items()]]
            for each in leaf.lines[1:]
        ]
        units = leaf.least.tolist(), leaf.most.tolist()
        content = _line([*units, leaf.outer.tolist(), leaf.ratio, lines])
        yield _Block(content, left_out=1)


@dataclass(frozen=True)
class _Block:
    content: bytes
    left_out: int = 0
    leaves: int = 0


def _blocks(
    problem: Problem,
    objective: Objective,
    best: float | None,
    best_point: Points | None,
    bound: float,
    threads: int,
) -> Iterator[_Block]:
    """Yield the content of a certificate; it holds a few lists of boxes at a time."""
    space = problem.space
    native = _native.OptimumSearch(
        space.layer.native, space.hardware.native, space.native, objective.columns
    )
    yield _header(problem, objective, best, best_point, bound)
    roots, parallel = native.all()
    yield _Block(_bytes(np.array([len(roots)], dtype=np.uint8), parallel))
    lists = [roots]
    while lists:
        boxes = lists.pop()
        *columns, following = native.prove(boxes, bound, threads)
        trims, axes, ends, actions, parts, sizes, goes_on = columns
        packed = (trims, axes, ends, actions, parts, sizes, np.packbits(goes_on))
        content = _bytes(np.array([len(boxes)], dtype=np.uint32), *packed)
        yield _Block(content, len(goes_on) - len(following), len(actions) - len(parts))
        starts = range(0, len(following), LONGEST_LIST)
        lists.extend(following[start : start + LONGEST_LIST] for start in reversed(starts))


def _bytes(*arrays: NDArray[Any]) -> bytes:
    """Return arrays one after the other, least byte first."""
    return b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays)


_CONTENTS: Mapping[type[ProofSearch], Callable[..., Iterator[_Block]]] = {
    OptimumSearch: _blocks,
    MemoriesSearch: _leaves,
}
"""What writes the content of a certificate, for each search."""
