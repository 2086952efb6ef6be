"""Checks certificates of mappings on any memories (docs/optimum_memories.md, 5)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.experiments.commands.verify.claim import (
    CertificateError,
    ProofClaim,
    Stream,
    read_number,
    read_objective,
    read_point,
    require_keys,
)
from maestro_env.experiments.commands.verify.memories.charges import Task
from maestro_env.experiments.commands.verify.memories.facts import (
    FILTER,
    INPUT,
    OUTPUT,
    Facts,
    Tuples,
    Units,
    port_prices,
    steps_of,
)
from maestro_env.experiments.commands.verify.memories.program import Kind, Program
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.workloads.layer import Layer

FORMAT = "maestro-env certificate of any memories 2"
_KEYS = {"format", "layer", "accelerator", "tiles", "objective", "optimum", "bound"}
_FACTORS = ("latency_cycles", "energy_nj")
_MOST_STATES = 2_000_000
_MOST_LINES = 64
_MOST_LEAVES = 100_000
# Weights that are not 0. Beyond them numbers overflow, and infinity stands for: no mapping.
_LEAST, _MOST = 1e-12, 1e12
# The writer adds up the same numbers in another order.
_ROUNDING = 1 + 1e-8
# The writer leaves more room to a limit of time, so that it looks at all that is looked at here.
_LIMIT_ROUNDING = 1 + 1e-11
# Units of these dimensions are told apart as products, too.
_GROUPS = tuple(tuple(map(DIMS.index, dims)) for dims in ("K", "NPQ", "CRS"))

_Line = tuple[float, float, dict[tuple[int, int], float]]
_Outer = list[tuple[int, int]]
_Bound = tuple[float, float, dict[Kind, float]]


@dataclass(frozen=True, eq=False)
class _Part:
    """Tuples of units, and the outer tiles of the leaves that have them."""

    inside: NDArray[np.bool_]
    outer: list[_Outer]

    def has_all(self, whole: int) -> bool:
        """Say whether the tiles are all: boxes that have nothing in common, and fill the whole."""
        filled = sum(math.prod(high - low + 1 for low, high in each) for each in self.outer)
        boxes = np.array(self.outer)
        for place in range(1, len(boxes)):
            low, high = boxes[place].T
            meets = ((boxes[:place, :, 0] <= high) & (boxes[:place, :, 1] >= low)).all(axis=1)
            if meets.any():
                return False
        return filled == whole


def read_claim(header: dict[str, Any]) -> ProofClaim:
    """Return what a header claims.

    Raises:
        CertificateError: it cannot be read, or its vector does not have its value.
    """
    require_keys("the header", header, _KEYS)
    require_keys("layer", header["layer"], {"operator", "extents", "stride"})
    try:
        accelerator = read_hierarchy(str(header["accelerator"]), "the accelerator")
        space = HierarchySpace(Layer(**header["layer"]), accelerator, str(header["tiles"]))
        problem = HierarchyProblem(space)
        objective = read_objective(header["objective"], _FACTORS)
        problem.require_figures(objective)
    except MaestroEnvError as error:
        raise CertificateError(str(error)) from None
    bound = math.inf if header["bound"] is None else read_number("bound", header["bound"])
    if header["optimum"] is None:
        return ProofClaim(problem, objective, math.inf, None, bound)
    require_keys("optimum", header["optimum"], {"value", "point"})
    value = read_number("the optimum's value", header["optimum"]["value"])
    point = read_point(problem, header["optimum"]["point"])
    cost = float(problem.score(space.as_points([point], 1), objective)[0][0])
    if cost != value or bound > value:
        raise CertificateError(
            f"the point costs {cost}, the claims are {value} and a bound of {bound}"
        )
    return ProofClaim(problem, objective, value, point, bound)


class Leaves:
    """The leaves of a certificate, which together have all mappings."""

    def __init__(self, stream: Stream, claim: ProofClaim) -> None:
        self._stream, self._claim = stream, claim
        assert isinstance(claim.problem, HierarchyProblem)
        self._facts = Facts(claim.problem.space.evaluator)
        factors = claim.objective.factors
        self._powers = tuple(map(factors.count, _FACTORS))

    def check(self, show: Callable[[int], None]) -> int:
        """Check all leaves, and that no units are missing; return how many leaves there are.

        Raises:
            CertificateError: one of them does not hold.
        """
        try:
            tuples = self._facts.tuples
        except ValueError as error:
            raise CertificateError(str(error)) from None
        features, count = _features(tuples), 0
        parts: dict[bytes, _Part] = {}
        for line in self._stream.lines(_MOST_LEAVES):
            count += 1
            try:
                least, most, outer, ratio, lines = self._read(line, features.shape[1])
                inside = ((features >= least) & (features <= most)).all(axis=1)
                if not inside.any():
                    raise CertificateError("it has no units")
                self._check(self._facts.units(tuples[inside], outer), ratio, lines)
            except (CertificateError, OverflowError) as error:
                raise CertificateError(f"leaf {count}: {error}") from None
            parts.setdefault(inside.tobytes(), _Part(np.asarray(inside), [])).outer.append(outer)
            show(count)
        whole, covered = math.prod(self._facts.extents), np.zeros(len(tuples), dtype=bool)
        for part in parts.values():
            if part.has_all(whole):
                covered |= part.inside
        if not covered.all():
            missing = tuples[~covered][0].tolist()
            raise CertificateError(f"no leaves have all tiles of the units {missing}")
        return count

    def _read(self, line: bytes, width: int) -> tuple[Tuples, Tuples, _Outer, float, list[_Line]]:
        """Read units and outer tiles of a leaf, the ratio of its classes, and its lines."""
        try:
            least, most, tiles, ratio, lines = json.loads(line)
            outer = [(int(low), int(high)) for low, high in zip(*tiles, strict=True)]
            units = [np.array(each, dtype=np.int64) for each in (least, most)]
            found = [
                (float(energy), float(latency), {(int(e), int(w)): float(s) for e, w, s in shares})
                for energy, latency, shares in lines
            ]
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise CertificateError(f"it is {quoted(line.decode(errors='replace'))}") from None
        if any(each.shape != (width,) for each in units) or len(found) > _MOST_LINES:
            raise CertificateError(f"allowed: {width} numbers twice, and {_MOST_LINES} lines")
        if type(ratio) not in (int, float) or not 1 <= ratio < math.inf:
            raise CertificateError(f"ratio {quoted(ratio)}; allowed: 1 or more")
        for energy, latency, shares in found:
            ports = {(e, way) for e in range(len(self._facts.elements)) for way in range(2)}
            fair = all(each == 0 or _LEAST <= each <= _MOST for each in (energy, latency))
            fair = fair and energy + latency > 0 and all(each >= 0 for each in shares.values())
            if not fair or not sum(shares.values()) <= 1 or not shares.keys() <= ports:
                raise CertificateError(f"weights {quoted([energy, latency, shares])}")
        known = zip(outer, self._facts.extents, strict=False)
        if len(outer) != len(DIMS) or not all(1 <= a <= z <= extent for (a, z), extent in known):
            raise CertificateError(f"outer tiles {quoted(tiles)}")
        return units[0], units[1], outer, float(ratio), found

    def _check(self, units: Units, ratio: float, lines: list[_Line]) -> None:
        """Require of a leaf that no mapping in it has less than the claim."""
        latency, energy = self._powers
        bounds: list[_Bound] = []
        exposed_cycles = cycles = math.inf
        for weights in sorted(lines, key=lambda each: each[1] > 0):
            least = max((min(found.values()) / e for e, t, found in bounds if not t), default=0.0)
            if latency and (least or not energy):
                # A mapping of less than the claim takes less time than this (P10).
                room = self._claim.bound / least**energy if energy else self._claim.bound
                cycles = room ** (1 / latency) * _LIMIT_ROUNDING
                exposed_cycles = cycles - units.cycles
            try:
                with np.errstate(over="raise"):
                    found = self._least(units, ratio, weights, exposed_cycles, cycles)
            except FloatingPointError as error:
                raise CertificateError(f"its bound cannot be computed: {error}") from None
            bounds.append((*weights[:2], found))
        computed = (0.0, 1.0, units.cycles)
        values = [
            _least_product(
                [computed, *((e, t, each[kind]) for e, t, each in bounds)], *self._powers
            )
            for kind in (bounds[0][2] if bounds else ())
        ]
        for value in values or [0.0 if energy else units.cycles**latency]:
            if not value * _ROUNDING >= self._claim.bound:
                raise CertificateError(f"its bound is {value}, below the claim {self._claim.bound}")

    def _least(
        self, units: Units, ratio: float, line: _Line, exposed_cycles: float, cycles: float
    ) -> dict[Kind, float]:
        """Return the least energy and latency, weighed by a line, of each kind of mappings."""
        energy, latency, shares = line
        facts, program = self._facts, Program(self._facts, ratio, units.outer)
        if program.states > _MOST_STATES:
            raise CertificateError(f"{program.states:,} states; allowed: {_MOST_STATES:,}")
        prices, steps = energy / 1000 * facts.energy, np.zeros(len(facts.elements))
        for port, share in shares.items():
            prices = prices + latency * share * port_prices(facts, units, port)
            steps = steps + latency * share * np.array(steps_of(facts, port))
        rest = max(0.0, latency * (1 - sum(shares.values())))
        limits = (exposed_cycles, cycles) if latency else (math.inf, math.inf)
        fills, drains = (
            [latency - latency * facts.hidden(e, of, shares) for e in range(len(facts.elements))]
            for of in ([INPUT, FILTER], [OUTPUT])
        )
        least = program.least(Task(units, prices, steps.tolist(), fills, drains, latency, *limits))
        runs = sum(latency * share * facts.rounding[port] for port, share in shares.items())
        macs = energy * facts.mac["pj"] * facts.macs / 1000
        more = macs + runs + rest * units.cycles
        return {kind: value + more for kind, value in least.items()}


def _features(tuples: Tuples) -> Tuples:
    """Return units of each fan-out by dimension and as products, int64[n, features]."""
    groups = [tuples[:, :, dims].prod(axis=2) for dims in _GROUPS]
    return np.concatenate([tuples.reshape(len(tuples), -1), *groups], axis=1)


def _least_product(bounds: list[tuple[float, float, float]], latency: int, energy: int) -> float:
    """Return the least latency^a energy^b where each energy e + latency t is bounded.

    It is at the least latency, or where two of them meet: between two such places the energy falls
    along a line, and the product of powers of the two first rises.
    """
    if any(math.isinf(bound) for *_, bound in bounds):
        return math.inf  # No mapping is as good as what lines were told to look for.
    least = max(bound / t for e, t, bound in bounds if not e)
    if not energy:
        return float(least**latency)
    lines = [(t / e, bound / e) for e, t, bound in bounds if e]
    if not any(tilt == 0 for tilt, _ in lines):
        return 0.0
    places = [least, *_meetings(lines)]
    return min(
        place**latency * max(height - tilt * place for tilt, height in lines) ** energy
        for place in places
        if place >= least
    )


def _meetings(lines: list[tuple[float, float]]) -> Iterator[float]:
    for index, (tilt, height) in enumerate(lines):
        for other, level in lines[:index]:
            if tilt != other and math.isfinite(height - level):
                yield (height - level) / (tilt - other)
