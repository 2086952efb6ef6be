"""``maestro-env verify``: check the proofs that the command optimum writes.

It shares no code with the search that writes them. Every box of the tree of a certificate is
checked (docs/optimum.md, 9).
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.problem import require as require_levels
from maestro_env.experiments.commands.verify import blocks
from maestro_env.experiments.commands.verify.blocks import EVALUATE, Block, mappings, require
from maestro_env.experiments.commands.verify.bounds.boxes import (
    INNERMOST,
    UNDECIDED,
    Facts,
    Flags,
    Table,
    first,
    last,
    may_fit,
    only_idle,
)
from maestro_env.experiments.commands.verify.bounds.levels import lower_bounds
from maestro_env.experiments.commands.verify.bounds.sides import Ranges
from maestro_env.experiments.commands.verify.claim import (
    CertificateError,
    ProofClaim,
    Stream,
    open_stream,
    read_claim,
    read_header,
)
from maestro_env.experiments.commands.verify.memories import check as memories
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import option
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import printable_name
from maestro_env.models import room_of

_LONGEST_LIST = 16_384
_MOST_WAITING = 2**21
# Parts that are looked at together.
_TOGETHER = 65_536
# The writer adds up the same counts in another order, and may round other last digits. Cycles are
# whole numbers.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Config:
    """Check that certificates prove their optima, with bounds that the search does not share."""

    certificate: tuple[str, ...] = option(
        MISSING, "files of the command optimum, or its directories", several=True
    )


def execute(config: Config) -> int:
    """Check, print, and return the exit status."""
    status = 0
    for name in config.certificate:
        path = Path(name)
        file = path / "certificate.gz" if path.is_dir() else path
        try:
            proven, *more = _told(verify(file))
            print_lines(f"verified: {printable_name(name)}: {proven}", *more)
        except CertificateError as error:
            print_errors(f"refused: {printable_name(str(file))}: {error}")
            status = cli.FAILED
    return status


def _told(verified: Verified) -> Iterator[str]:
    """Yield what a certificate proves, in words, and the figures of its accelerator.

    The file may be anybody's, so a name counts only where all figures are those of this name.
    """
    claim = verified.claim
    problem, objective = claim.problem, claim.objective
    where = f"{problem.layer} on {_name(problem.hardware)}"
    mappings = f"no mapping of {_kind(problem)}"
    if math.isinf(claim.bound):
        proven = f"{mappings} fits the buffers"
    else:
        unit = objective.unit
        proven = f"{mappings} has less {objective.name} than {claim.bound!r} {unit}"
        if claim.point is not None and claim.value == claim.bound:
            proven += ", which the vector in the file has"
        elif claim.point is not None:
            proven += f"; the vector in the file has {claim.value!r}"
    work = f"{verified.tally}, {verified.seconds:.1f} s"
    # Names of accelerators do not count.
    room = room_of(problem.model)
    unnamed: Any = problem.hardware
    record = room.record(replace(unnamed, name=""))
    facts = [problem.layer.shape, record, *_space(problem)]
    text = json.dumps([*facts, objective.name], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    digests = f"digest {verified.digest[:16]}, of the problem {digest[:16]}"
    yield f"{where}: {proven} ({work}; {digests})"
    yield f"accelerator: {room.all_fields(problem.hardware)}"


def _space(problem: AnyProblem) -> tuple[str, str]:
    """Return the schema and the tiles of a space."""
    space: Any = problem.space
    return problem.schema, space.tiles


def _kind(problem: AnyProblem) -> str:
    schema, tiles = _space(problem)
    return f"{schema or 'equal shares'} ({tiles})"


def _name(hardware: Accelerator) -> str:
    """Return the name of an accelerator that has all the figures of this name."""
    known = room_of(hardware.MODEL).published(hardware.name)
    return hardware.name if known == hardware else "an accelerator of its own"


@dataclass
class Tally:
    """What was checked: boxes left out for their bounds, and mappings evaluated."""

    left_out: int = 0
    mappings: int = 0

    def __str__(self) -> str:
        return f"{self.left_out:,} boxes, {self.mappings:,} mappings"


@dataclass(frozen=True)
class Verified:
    """A certificate that holds.

    Args:
        claim: what it proves.
        tally: what was checked.
        seconds: that took.
        digest: SHA-256 of its content.
    """

    claim: ProofClaim
    tally: Tally
    seconds: float
    digest: str


def verify(path: Path) -> Verified:
    """Check a certificate.

    Raises:
        CertificateError: it cannot be read, or does not hold.
    """
    began = time.perf_counter()
    with open_stream(path) as stream, Bar("checked", stream.size) as bar:
        header, tally = read_header(stream.line()), Tally()
        if header["format"] == memories.FORMAT:
            claim = memories.read_claim(header)

            def show(leaves: int) -> None:
                tally.left_out = leaves
                bar.show(stream.position, str(tally))

            memories.Leaves(stream, claim).check(show)
        else:
            claim = read_claim(header)
            OpenBoxes(stream, claim, tally).check(lambda: bar.show(stream.position, str(tally)))
        return Verified(claim, tally, time.perf_counter() - began, stream.digest)


class OpenBoxes:
    """The boxes of a certificate that are still to be looked into."""

    def __init__(self, stream: Stream, claim: ProofClaim, tally: Tally) -> None:
        self._stream, self._claim, self._tally = stream, claim, tally
        self._facts = Facts(require_levels(claim.problem, "levels", "the certificate").space)
        self._dims = len(self._facts.dims)
        exact = claim.objective.factors == ("latency_cycles",)
        self._least = claim.bound if exact else claim.bound * (1 - _ROUNDING)

    def check(self, show: Callable[[], None]) -> None:
        """Check all blocks; ``show`` is called after each.

        Raises:
            CertificateError: one of them does not hold.
        """
        lists, waiting, count = [blocks.read_roots(self._stream, self._facts)], 0, 0
        while lists:
            boxes = lists.pop()
            waiting -= len(boxes)
            count += 1
            try:
                following = self._check_block(boxes)
            except CertificateError as error:
                raise CertificateError(f"block {count}: {error}") from None
            waiting += len(following)
            if waiting > _MOST_WAITING:
                raise CertificateError(f"block {count}: more than {_MOST_WAITING:,} boxes wait")
            starts = range(0, len(following), _LONGEST_LIST)
            lists += [following[start : start + _LONGEST_LIST] for start in reversed(starts)]
            show()
        self._stream.end()

    def _check_block(self, boxes: Table) -> Table:
        """Check a list of boxes and return the parts that go on."""
        block = blocks.read_block(self._stream, self._facts, len(boxes))
        boxes = boxes.copy()
        for rows, axes, away in blocks.trims(boxes, block):
            require(self._left_out(away, axes), "is trimmed of what may cost less", rows)
        self._evaluate(boxes, np.flatnonzero(block.actions == EVALUATE))
        for level in (0, 1):
            self._check_innermost(boxes, block, level)
        nothing = np.flatnonzero((block.actions != EVALUATE) & (block.counts == 0))
        bounds = self._bounds(boxes[nothing])
        require(np.isinf(bounds), "has no parts, but may have mappings", nothing)
        return np.concatenate([self._check_parts(boxes, block, some) for some in _slices(block)])

    def _left_out(self, boxes: Table, axes: blocks.Rows) -> Flags:
        """Say which boxes a trim may leave out: none fits, larger clusters do, or by the bound."""
        out = ~may_fit(self._facts, boxes)
        clusters = np.flatnonzero(~out & (axes == 2 * self._dims))
        out[clusters] = only_idle(self._facts, boxes[clusters])
        rest = np.flatnonzero(~out)
        out[rest] = self._bounds(boxes[rest]) >= self._least
        return out

    def _bounds(self, boxes: Table) -> NDArray[np.float64]:
        return lower_bounds(self._facts, self._claim.objective.factors, boxes)

    def _check_parts(self, boxes: Table, block: Block, some: slice) -> Table:
        """Check some of the parts and return those that go on."""
        parts, goes_on = blocks.split(self._facts, boxes, block, some), block.goes_on[some]
        bounds = self._bounds(parts[~goes_on])
        low = np.flatnonzero(~(bounds >= self._least))
        if len(low):
            box = int(block.parents[some][~goes_on][low[0]])
            raise CertificateError(
                f"box {box} has a part left out with the bound {bounds[low[0]]}, "
                f"below the claim {self._claim.bound}"
            )
        self._tally.left_out += len(bounds)
        return parts[goes_on]

    def _check_innermost(self, boxes: Table, block: Block, level: int) -> None:
        """Require of boxes split by innermost loops that every possible one is there, once."""
        mine = (block.actions == 2 * self._dims + 1 + level) & (block.counts > 0)
        rows = np.flatnonzero(mine)
        if not len(rows):
            return
        decided = boxes[rows, INNERMOST + level]
        require(decided == UNDECIDED, "has its innermost loop decided twice", rows)
        of_mine = mine[block.parents]
        values, owners = block.values[of_mine], block.parents[of_mine]
        known = (values >= -1) & (values < self._dims)
        require(known, "has a part of no innermost loop", owners)
        times = np.zeros((len(boxes), self._dims + 1), dtype=np.int32)
        np.add.at(times, (owners, values + 1), 1)
        require(np.all(times <= 1, axis=1)[rows], "has an innermost loop twice", rows)
        for dim, possible in Ranges(self._facts, boxes[rows]).innermost(level):
            require((times[rows, dim + 1] == 1) | ~possible, "lacks an innermost loop", rows)

    def _evaluate(self, boxes: Table, rows: NDArray[np.int64]) -> None:
        """Require of boxes that their sizes are chosen and no mapping beats the optimum."""
        leaves, claim = boxes[rows], self._claim
        axes = np.arange(2 * self._dims + 1)
        single = (leaves[:, first(axes)] == leaves[:, last(axes)]).all(axis=1)
        require(single, "is to be evaluated, but has several sizes", rows)
        for points in mappings(self._facts, leaves):
            values, _ = claim.problem.score(points, claim.objective)
            best = int(values.argmin())
            if values[best] < claim.least:
                raise CertificateError(
                    f"the mapping {points[best].tolist()} costs {values[best]}, "
                    f"below the claim {claim.least}"
                )
            self._tally.mappings += len(points)


def _slices(block: Block) -> list[slice]:
    """Return ranges of some ten thousand parts, each with all parts of its boxes."""
    stops = np.cumsum(block.counts)
    cuts = stops[np.flatnonzero(np.diff(stops // _TOGETHER))].tolist()
    return [slice(start, stop) for start, stop in pairwise([0, *cuts, len(block.parents)])]
