"""Lines in the plane of latency and energy that no mapping of a box is below (P11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maestro_env.evaluation.fronts import Powers
from maestro_env.hierarchy.relaxed import Limits, Relaxation, Weights
from maestro_env.hierarchy.units import UnitBox
from maestro_env.optimum.lines import Line, Shares, least_product

ROUNDING = 1 + 1e-9
"""Bounds and figures are added up in different orders."""

WORTHWHILE = 1 + 1e-4
"""Bounds that differ by less are not worth more work."""

# Of shares, what goes to all ports alike, and, one after the other, to one of them.
_LITTLE = 1 / 32
_PARTS = (1 / 4, 1 / 16, 1 / 64)
_NO_LIMITS = Limits()


@dataclass(frozen=True)
class Effort:
    """How much work goes into the lines of a box.

    Args:
        ratio: up to which classes of tiles are merged.
        best: with lines that reach it the work ends.
        pairs: of lines that weigh latency and energy, at most.
        shares: of ports, for lines of latency; by default whatever may bound it highest.
        climbs: parts of the shares move to where lines are higher.
    """

    ratio: float
    best: float
    pairs: int
    shares: Sequence[Shares] = ()
    climbs: bool = False


class LineBounds:
    """Bounds of latency^a energy^b of the mappings of boxes.

    Attributes:
        relaxed: the relaxed program.
        powers: a and b.
        states: of the programs that were run.
    """

    def __init__(self, relaxed: Relaxation, powers: Powers) -> None:
        self.relaxed, self.powers, self.states = relaxed, powers, 0

    def least(self, box: UnitBox, effort: Effort) -> float:
        """Return what no mapping of a box is below, or ``effort.best`` or more."""
        return least_product(self.lines(box, effort), self.powers).value

    def lines(self, box: UnitBox, effort: Effort) -> list[Line]:
        """Return lines that no mapping of a box is below whose value is below ``effort.best``."""
        latency, energy = self.powers
        lines = [Line(0.0, 1.0, np.array([box.compute_cycles]))]
        if energy:
            lines.append(self.line(box, effort.ratio, 1.0, 0.0))
        value, _, nanojoules, _ = least_product(lines, self.powers)
        if not latency or not self.relaxed.ports or value >= effort.best or math.isinf(value):
            return lines
        limits = self._limits(box, effort.best, nanojoules)
        timed = self.timed(box, effort.ratio, limits, effort.shares)
        if energy:
            return self._weighed([*lines, *timed], box, effort, limits)
        if effort.climbs:
            timed += self._climbed([*lines, *timed], timed[0], box, effort.ratio, limits)
        return [*lines, *timed]

    def _weighed(
        self, lines: list[Line], box: UnitBox, effort: Effort, limits: Limits
    ) -> list[Line]:
        """Return lines and others of energy and latency, where the product is least."""
        # After compute time and energy come those of latency, the highest first.
        latency, energy = self.powers
        mixtures, turn = [each.shares for each in lines[2:4]], int(box.outer.sum())
        for place in range(effort.pairs):
            before, cycles, nanojoules, kind = least_product(lines, self.powers)
            if not cycles or before >= effort.best:
                break
            # The product falls most steeply in this direction.
            weight = latency / energy * nanojoules / cycles
            if effort.shares:
                mixtures = [*mixtures[:2], self._blended(mixtures[0], turn + place)]
            found = [self.line(box, effort.ratio, 1.0, weight, each, limits) for each in mixtures]
            if effort.climbs and not place:
                found += self._climbed([*lines, *found], found[0], box, effort.ratio, limits)
            found.sort(key=lambda each: -each.of(kind))
            mixtures = [each.shares for each in found]
            lines = [*lines, *found]
            if least_product(lines, self.powers).value < before * WORTHWHILE:
                break
        return lines

    def _climbed(
        self, lines: list[Line], like: Line, box: UnitBox, ratio: float, limits: Limits
    ) -> list[Line]:
        """Return other lines, of the weights of one, higher for the kinds that were the lowest.

        Parts of the shares of a line move from port to port while that makes it higher.
        """
        found = list[Line]()
        weights = like.energy, like.latency
        for turn in range((len(self.relaxed.ports) + 1) * len(_PARTS)):
            every = [*lines, *found]
            kind = least_product(every, self.powers).kind
            same = [each for each in every[1:] if (each.energy, each.latency) == weights]
            start = max(same, key=lambda each: each.of(kind))
            line = self.line(box, ratio, *weights, self._blended(start.shares, turn), limits)
            if line.of(kind) > start.of(kind):
                found.append(line)
        return found

    def timed(
        self,
        box: UnitBox,
        ratio: float,
        limits: Limits = _NO_LIMITS,
        shares: Sequence[Shares] = (),
    ) -> list[Line]:
        """Return lines of latency alone, by the ports whose time they weigh, the highest first."""

        def line(shares: Shares) -> Line:
            return self.line(box, ratio, 0.0, 1.0, shares, limits)

        if shares:
            found = sorted(map(line, shares), key=lambda each: -each.bound)
            found.append(line(self._blended(found[0].shares, int(box.outer.sum()))))
            return sorted(found, key=lambda each: -each.bound)
        ports, even = self.relaxed.ports, self._even
        plain: list[Shares] = [{}, *({port: 1.0} for port in ports)]
        found = [*map(line, plain), *([line(even)] * (len(ports) > 1))]
        found.sort(key=lambda each: -each.bound)
        for high in [each.shares for each in found[:2]]:
            # Half of the time of a port is all else; and a little of all ports is much where one
            # of them would be slow.
            found += [line(_mixed(high, {}, 1 / 2))] if high else []
            found.append(line(_mixed(high, even, _LITTLE)))
        return sorted(found, key=lambda each: -each.bound)

    def _blended(self, shares: Shares, turn: int) -> Shares:
        """Return other shares: in turn, a part goes to one of the ports, or to none."""
        ports = self.relaxed.ports
        place, part = turn % (len(ports) + 1), _PARTS[turn // (len(ports) + 1) % len(_PARTS)]
        return _mixed(shares, {ports[place]: 1.0} if place < len(ports) else {}, part)

    @property
    def _even(self) -> Shares:
        ports = self.relaxed.ports
        return dict.fromkeys(ports, 1 / len(ports))

    def evenly(self, box: UnitBox, ratio: float, limits: Limits = _NO_LIMITS) -> Line:
        """Return the line of latency that weighs the time of all ports alike."""
        return self.line(box, ratio, 0.0, 1.0, self._even, limits)

    def line(
        self,
        box: UnitBox,
        ratio: float,
        energy: float,
        latency: float,
        shares: Shares | None = None,
        limits: Limits = _NO_LIMITS,
    ) -> Line:
        """Return a line of all mappings of a box within limits."""
        self.states += self.relaxed.states(ratio)
        weights = weighed(energy, latency, shares or {})
        bounds = self.relaxed.by_kind(box, weights, ratio, limits)
        return Line(energy, latency, bounds + weights.fill * box.compute_cycles, shares or {})

    def _limits(self, box: UnitBox, best: float, nanojoules: float) -> Limits:
        """Return what no better mapping of so much energy at least exceeds (P10)."""
        latency, energy = self.powers
        room = best / nanojoules**energy if energy else best
        # Twice: ``best`` may be less by it, and the checker of a certificate must allow less.
        cycles = room ** (1 / latency) * ROUNDING**2
        return Limits(cycles - box.compute_cycles, cycles)


def shares_of(lines: Sequence[Line], powers: Powers, most: int) -> tuple[Shares, ...]:
    """Return shares of ports by which a box is bounded, those first that raise its bound most.

    Args:
        lines: of a box, as ``LineBounds.lines`` returns them.
        powers: of latency and energy.
        most: so many at most.
    """
    first = 2 if powers[1] else 1
    chosen, others, found = [*lines[:first]], [*lines[first:]], list[Shares]()
    while others and len(found) < most:
        at = least_product(chosen, powers)
        line = max(others, key=lambda each: each.above(at))
        others.remove(line)
        chosen.append(line)
        if line.shares not in found:
            found.append(line.shares)
    return tuple(found)


def _mixed(shares: Shares, others: Shares, part: float) -> Shares:
    found = {port: share * (1 - part) for port, share in shares.items()}
    for port, share in others.items():
        found[port] = found.get(port, 0.0) + share * part
    return found


def weighed(energy: float, latency: float, shares: Shares) -> Weights:
    """Weigh latency as the time of some ports, and the rest as computing and first fills."""
    ports = {port: latency * share for port, share in shares.items()}
    return Weights(energy, ports, latency * (1 - sum(shares.values())))
