"""Lines in the plane of latency and energy that no mapping of a box is below (P11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from maestro_env.evaluation.fronts import Powers
from maestro_env.hierarchy.relaxed import Limits, Relaxation, Weights
from maestro_env.hierarchy.units import UnitBox
from maestro_env.optimum.lines import Line, Shares, least_product

ROUNDING = 1 + 1e-9
"""Bounds and figures are added up in different orders."""

WORTHWHILE = 1 + 1e-4
"""Bounds that differ by less are not worth more work."""

# Of the time of ports: a little of it is enough where it would be long.
_PARTS = (1 / 2, 1 / 64)
# Of shares that are tried besides, so much moves.
_PARTS_MOVED = (1 / 4, 1 / 16, 1 / 2)
_NO_LIMITS = Limits()


class LineBounds:
    """Bounds of latency^a energy^b of the mappings of boxes.

    Attributes:
        relaxed: the relaxed program.
        powers: a and b.
        states: of the programs that were run.
    """

    def __init__(self, relaxed: Relaxation, powers: Powers) -> None:
        self.relaxed, self.powers, self.states = relaxed, powers, 0

    def least(self, box: UnitBox, ratio: float, best: float, most: int) -> float:
        """Return what no mapping of a box is below, or what is no lower than ``best``."""
        return least_product(self.lines(box, ratio, best, most), self.powers)[0]

    def lines(
        self, box: UnitBox, ratio: float, best: float, most: int, shares: Sequence[Shares] = ()
    ) -> list[Line]:
        """Return lines that no mapping of a box with a value below ``best`` is below.

        Args:
            box: its units and outer tiles.
            ratio: up to which classes of tiles are merged.
            best: with lines that reach it the work ends.
            most: pairs of lines that weigh latency and energy.
            shares: of ports, for lines of latency; by default whatever may bound it highest.
        """
        latency, energy = self.powers
        lines = [Line(0.0, 1.0, box.compute_cycles)]
        if energy:
            lines.append(self.line(box, ratio, 1.0, 0.0))
        value, _, nanojoules = least_product(lines, self.powers)
        if not latency or not self.relaxed.ports or value >= best or math.isinf(value):
            return lines
        limits = self._limits(box, best, nanojoules)
        timed = self.timed(box, ratio, limits, shares)
        lines += timed
        mixtures = [each.shares for each in timed[:2]]
        turn = int(box.outer.sum())
        for place in range(most):
            before, cycles, nanojoules = least_product(lines, self.powers)
            if not energy or not cycles or before >= best:
                break
            # The product falls most steeply in this direction.
            weight = latency / energy * nanojoules / cycles
            if shares:
                mixtures = [*mixtures[:2], self._blended(mixtures[0], turn + place)]
            mixed = [self.line(box, ratio, 1.0, weight, each, limits) for each in mixtures]
            mixed.sort(key=lambda each: -each.bound)
            mixtures = [each.shares for each in mixed]
            lines += mixed
            if least_product(lines, self.powers)[0] < before * WORTHWHILE:
                break
        return lines

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
            return sorted(map(line, shares), key=lambda each: -each.bound)
        ports = [{port: 1.0} for port in self.relaxed.ports]
        found = [*map(line, ({}, *ports)), *([self.evenly(box, ratio, limits)] * (len(ports) > 1))]
        found.sort(key=lambda each: -each.bound)
        highest = [each.shares for each in found if each.shares][:2]
        found += [
            line({port: share * part for port, share in shares.items()})
            for shares, part in product(highest, _PARTS)
        ]
        return sorted(found, key=lambda each: -each.bound)

    def _blended(self, shares: Shares, turn: int) -> Shares:
        """Return other shares: in turn, a part goes to one of the ports, or to none."""
        ports = self.relaxed.ports
        part, place = _PARTS_MOVED[turn % len(_PARTS_MOVED)], turn % (len(ports) + 1)
        found = {port: share * (1 - part) for port, share in shares.items()}
        if place < len(ports):
            found[ports[place]] = found.get(ports[place], 0.0) + part
        return found

    def evenly(self, box: UnitBox, ratio: float, limits: Limits = _NO_LIMITS) -> Line:
        """Return the line of latency that weighs the time of all ports alike."""
        ports = self.relaxed.ports
        return self.line(box, ratio, 0.0, 1.0, dict.fromkeys(ports, 1 / len(ports)), limits)

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
        least = self.relaxed.least(box, weights, ratio, limits)
        return Line(energy, latency, least + weights.fill * box.compute_cycles, shares or {})

    def _limits(self, box: UnitBox, best: float, nanojoules: float) -> Limits:
        """Return what no better mapping of so much energy at least exceeds (P10)."""
        latency, energy = self.powers
        room = best / nanojoules**energy if energy else best
        cycles = room ** (1 / latency) * ROUNDING
        return Limits(cycles - box.compute_cycles, cycles)


def weighed(energy: float, latency: float, shares: Shares) -> Weights:
    """Weigh latency as the time of some ports, and the rest as computing and first fills."""
    ports = {port: latency * share for port, share in shares.items()}
    return Weights(energy, ports, latency * (1 - sum(shares.values())))
