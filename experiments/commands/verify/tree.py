"""Walks the tree of boxes of a certificate and checks every box of it (docs/optimum.md, 9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.blocks import EVALUATE, Block, read_block, read_roots, split, trim
from experiments.commands.verify.bounds import innermost_loops, lower_bounds
from experiments.commands.verify.boxes import OUTER_INNERMOST, UNDECIDED, Table, first, last
from experiments.commands.verify.facts import Facts
from experiments.commands.verify.leaves import mappings
from experiments.commands.verify.needs import may_fit
from experiments.commands.verify.stream import CertificateError, Claim, Stream

LONGEST_LIST = 16_384
_MOST_WAITING = 2**21
# Parts that are looked at together.
_TOGETHER = 65_536
# The writer adds up the same counts in another order, and may round other last digits. Cycles are
# whole numbers.
_ROUNDING = 1e-14


@dataclass
class Tally:
    """What was checked: boxes left out for their bounds, and mappings evaluated."""

    left_out: int = 0
    mappings: int = 0


class Tree:
    """The boxes of a certificate that are still to be looked into."""

    def __init__(self, stream: Stream, claim: Claim, tally: Tally) -> None:
        self._stream, self._claim, self.tally = stream, claim, tally
        self._facts = Facts(claim.problem.space)
        self._dims = len(self._facts.dims)
        exact = claim.objective.factors == ("latency_cycles",)
        self._least = claim.bound if exact else claim.bound * (1 - _ROUNDING)

    def check(self, show: Callable[[], None]) -> None:
        """Check all blocks; ``show`` is called after each.

        Raises:
            CertificateError: one of them does not hold.
        """
        lists, waiting, blocks = [read_roots(self._stream, self._facts)], 0, 0
        while lists:
            boxes = lists.pop()
            waiting -= len(boxes)
            blocks += 1
            try:
                following = self._check_block(boxes)
            except CertificateError as error:
                raise CertificateError(f"block {blocks}: {error}") from None
            waiting += len(following)
            if waiting > _MOST_WAITING:
                raise CertificateError(f"block {blocks}: more than {_MOST_WAITING:,} boxes wait")
            starts = range(0, len(following), LONGEST_LIST)
            lists += [following[start : start + LONGEST_LIST] for start in reversed(starts)]
            show()
        self._stream.end()

    def _check_block(self, boxes: Table) -> Table:
        block = read_block(self._stream, self._facts, len(boxes))
        boxes, away = trim(boxes, block)
        self._require(~may_fit(self._facts, away), "is trimmed of what may fit", block.trimmed)
        evaluate = block.actions == EVALUATE
        self._evaluate(boxes, np.flatnonzero(evaluate))
        self._check_innermost(boxes, block)
        nothing = np.flatnonzero(~evaluate & (block.parts == 0))
        bounds = lower_bounds(self._facts, self._claim.objective.factors, boxes[nothing])
        self._require(np.isinf(bounds), "has no parts, but may have mappings", nothing)
        following = [self._check_parts(boxes, block, *some) for some in _slices(block.parts)]
        return np.concatenate(following)

    def _check_parts(self, boxes: Table, block: Block, start: int, stop: int) -> Table:
        """Check the parts of some boxes and return those that go on."""
        some, parts_before = slice(start, stop), int(block.parts[:start].sum())
        within = slice(parts_before, parts_before + int(block.parts[some].sum()))
        parts, parents = split(
            boxes[some],
            block.actions[some],
            block.parts[some],
            block.values[within],
            self._dims,
            start,
        )
        goes_on = block.goes_on[within]
        out = np.flatnonzero(~goes_on)
        bounds = lower_bounds(self._facts, self._claim.objective.factors, parts[out])
        low = np.flatnonzero(~(bounds >= self._least))
        if len(low):
            box, bound = int(parents[out[low[0]]]), bounds[low[0]]
            raise CertificateError(
                f"box {box} has a part left out with the bound {bound}, "
                f"below the claim {self._claim.bound}"
            )
        self.tally.left_out += len(out)
        return parts[goes_on]

    def _check_innermost(self, boxes: Table, block: Block) -> None:
        """Require of boxes split by innermost loops that every possible one is there, once."""
        parents = np.repeat(np.arange(len(boxes)), block.parts)
        for level in (0, 1):
            mine = (block.actions == 2 * self._dims + 1 + level) & (block.parts > 0)
            rows = np.flatnonzero(mine)
            if not len(rows):
                continue
            decided = boxes[rows, OUTER_INNERMOST + level]
            self._require(decided == UNDECIDED, "has its innermost loop decided twice", rows)
            of_mine = mine[parents]
            values, owners = block.values[of_mine], parents[of_mine]
            known = (values >= -1) & (values < self._dims)
            self._require(known, "has a part of no innermost loop", owners)
            times = np.zeros((len(boxes), self._dims + 1), dtype=np.int32)
            np.add.at(times, (owners, values + 1), 1)
            self._require(np.all(times[rows] <= 1, axis=1), "has an innermost loop twice", rows)
            for dim, possible in innermost_loops(self._facts, boxes[rows])[level]:
                there = times[rows, dim + 1] == 1
                self._require(there | ~possible, "lacks an innermost loop", rows)

    def _evaluate(self, boxes: Table, rows: NDArray[np.int64]) -> None:
        """Require of boxes that their sizes are chosen and no mapping beats the optimum."""
        leaves, claim = boxes[rows], self._claim
        axes = np.arange(2 * self._dims + 1)
        single = (leaves[:, first(axes)] == leaves[:, last(axes)]).all(axis=1)
        self._require(single, "is to be evaluated, but has several sizes", rows)
        for points in mappings(self._facts, leaves):
            values, _ = claim.problem.score(points, claim.objective)
            best = int(values.argmin())
            if values[best] < claim.least:
                raise CertificateError(
                    f"the mapping {points[best].tolist()} costs {values[best]}, "
                    f"below the claim {claim.least}"
                )
            self.tally.mappings += len(points)

    @staticmethod
    def _require(fine: NDArray[np.bool_], problem: str, rows: NDArray[np.int64]) -> None:
        wrong = np.flatnonzero(~fine)
        if len(wrong):
            raise CertificateError(f"box {int(rows[wrong[0]])} {problem}")


def _slices(parts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return ranges of boxes that have some ten thousand parts each, or one box."""
    groups = np.cumsum(parts) // _TOGETHER
    cuts = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(parts)]
    return list(pairwise(cuts))
