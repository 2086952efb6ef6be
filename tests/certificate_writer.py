"""Writes certificates of tiny spaces down to single mappings, and wrong ones (docs/optimum.md, 9).

What is left out is left out by the bounds of the checker itself.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from experiments.commands.verify.bounds.boxes import (
    INNERMOST,
    UNDECIDED,
    Table,
    first,
    last,
    tidy,
    whole,
)
from experiments.commands.verify.bounds.facts import Facts
from experiments.commands.verify.bounds.lower import lower_bounds
from experiments.commands.verify.bounds.needs import may_fit
from experiments.commands.verify.bounds.ranges import Ranges
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.status import OK

EVALUATE = 255
LONGEST_LIST = 16_384


@dataclass
class Part:
    """A part of a box: its number of choices or its loop, and whether it goes on."""

    value: int
    box: Table
    goes_on: bool = True


@dataclass
class Entry:
    """What becomes of a box."""

    trims: list[tuple[int, int]]
    action: int
    parts: list[Part] = field(default_factory=list)


Roots = list[tuple[int, int]]
Edit = Callable[[Entry, Table], object]
"""Changes an entry of a box in place."""


class Writer:
    """Writes the certificate of a problem.

    Attributes:
        header: a dictionary; what it claims may be changed before the content is written.

    Args:
        problem: its layer, tiny.
        objective: what is minimised.
        share: the bound to claim, as a share of the optimum.
        seed: of the choice how boxes are split.
    """

    def __init__(
        self, problem: Problem, objective: Objective, share: float = 1.0, seed: int = 0
    ) -> None:
        self.problem, self.objective, self.seed = problem, objective, seed
        self.facts = Facts(problem.space)
        self.dims = len(self.facts.dims)
        best, point = optimum(problem, objective)
        self.bound = best * share
        self.header: dict[str, Any] = {
            "format": "maestro-env certificate 1",
            "layer": {
                "operator": problem.layer.operator,
                "extents": dict(problem.layer.extents),
                "stride": list(problem.layer.stride),
            },
            "hardware": problem.hardware.record(),
            "schema": problem.space.schema,
            "tiles": problem.space.tiles,
            "objective": {"name": objective.name, "factors": list(objective.factors)},
            "optimum": None if point is None else {"value": best, "point": point},
            "bound": self.bound if math.isfinite(self.bound) else None,
        }

    def content(
        self, edit: Edit | None = None, roots: list[tuple[int, int]] | None = None
    ) -> bytes:
        """Return the certificate before it is compressed."""
        self.rng = Random(self.seed)
        roots = self.roots() if roots is None else roots
        written = json.dumps(self.header, sort_keys=True).encode() + b"\n"
        pairs = np.array(roots, dtype=np.int8).reshape(-1, 2)
        written += bytes([len(roots)]) + pairs.tobytes()
        lists = [whole(self.facts, pairs)]
        while lists:
            boxes = lists.pop()
            entries = [self._entry(box) for box in boxes]
            self._leave_out([part for entry in entries for part in entry.parts])
            if edit is not None:
                for entry, box in zip(entries, boxes, strict=True):
                    edit(entry, box)
            written += encoded(entries)
            going_on = [part.box for each in entries for part in each.parts if part.goes_on]
            starts = range(0, len(going_on), LONGEST_LIST)
            lists += [np.array(going_on[s : s + LONGEST_LIST]) for s in reversed(starts)]
        return written

    def file(self, edit: Edit | None = None, roots: Roots | None = None) -> bytes:
        """Return the certificate as a file has it."""
        return gzip.compress(self.content(edit, roots))

    def roots(self) -> Roots:
        offered = sorted(set(self.facts.parallel))
        return [(outer, inner) for outer in offered for inner in offered]

    def _entry(self, box: Table) -> Entry:
        box = box.copy()
        trims = []
        if self.rng.random() < 0.1:
            trims = [trim for axis in range(2 * self.dims) if (trim := self._trimmed(box, axis))]
        tidy(box[np.newaxis])
        several = [a for a in range(2 * self.dims + 1) if box[first(a)] < box[last(a)]]
        undecided = [
            2 * self.dims + 1 + level for level in (0, 1) if box[INNERMOST + level] == UNDECIDED
        ]
        axes = several + (undecided if self.rng.random() < 0.3 or not several else [])
        if not axes:
            return Entry(trims, EVALUATE)
        axis = self.rng.choice(axes)
        split = self._sizes if axis <= 2 * self.dims else self._loops
        return Entry(trims, axis, split(box, axis))

    def _trimmed(self, box: Table, axis: int) -> tuple[int, int] | None:
        choices = np.arange(box[first(axis)] + 1, box[last(axis)] + 1)
        away = np.tile(box, (len(choices), 1))
        away[:, first(axis)] = choices
        fewer = choices[~may_fit(self.facts, away)]
        if not len(fewer):
            return None
        box[last(axis)] = fewer[0] - 1
        return axis, int(fewer[0]) - 1

    def _sizes(self, box: Table, axis: int) -> list[Part]:
        begin, stop = int(box[first(axis)]), int(box[last(axis)]) + 1
        cuts = sorted({begin, stop, *(self.rng.randint(begin + 1, stop - 1) for _ in "ab")})
        parts = []
        for low, high in pairwise(cuts):
            part = box.copy()
            part[first(axis)], part[last(axis)] = low, high - 1
            parts.append(Part(high - low, part))
        return parts

    def _loops(self, box: Table, axis: int) -> list[Part]:
        level = axis - 2 * self.dims - 1
        parts = []
        for dim, possible in Ranges(self.facts, box[np.newaxis]).innermost(level):
            if possible[0]:
                part = box.copy()
                part[INNERMOST + level] = dim
                parts.append(Part(dim, part))
        return parts

    def _leave_out(self, parts: list[Part]) -> None:
        if not parts:
            return
        boxes = np.array([part.box for part in parts])
        tidy(boxes)
        bounds = lower_bounds(self.facts, self.objective.factors, boxes)
        for part, box, bound in zip(parts, boxes, bounds.tolist(), strict=True):
            part.box, part.goes_on = box, bound < self.bound


def encoded(entries: list[Entry]) -> bytes:
    """Return the block of a list of boxes."""
    trims = [trim for entry in entries for trim in entry.trims]
    split = [entry for entry in entries if entry.action != EVALUATE]
    parts = [part for entry in split for part in entry.parts]
    columns: tuple[tuple[Any, str], ...] = (
        ([len(entries)], "<u4"),
        ([len(entry.trims) for entry in entries], "u1"),
        ([axis for axis, _ in trims], "u1"),
        ([end for _, end in trims], "<i4"),
        ([entry.action for entry in entries], "u1"),
        ([len(entry.parts) for entry in split], "u1"),
        ([part.value for part in parts], "<i4"),
    )
    bits = np.packbits(np.array([part.goes_on for part in parts], dtype=bool))
    return b"".join(np.array(*column).tobytes() for column in columns) + bits.tobytes()


def optimum(problem: Problem, objective: Objective) -> tuple[float, list[int] | None]:
    """Return the least value of all vectors of a space, and one that has it."""
    space = problem.space
    indices = np.unravel_index(np.arange(space.size()), tuple(space.sizes))
    points = np.stack(indices, axis=1).astype(np.int32)
    values, status = problem.score(points, objective)
    best = int(values.argmin())
    if status[best] != OK:
        return math.inf, None
    return float(values[best]), points[best].tolist()
