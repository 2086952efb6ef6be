"""What accesses cost where only the least numbers of words are known (docs/spec/hierarchy.md, H10).

Arrays have an axis for the boundaries, which are the pairs of consecutive holders of a tensor and,
after them, the fan-outs of limited bandwidth with the children below them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.elements import TENSORS, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS, looping
from maestro_env.base.errors import LayerError
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape

Values = NDArray[np.float64]

INPUT, OUTPUT = TENSORS.index("input"), TENSORS.index("output")


@dataclass(frozen=True)
class Boundary:
    """Two consecutive holders of a tensor, by number, and the units that may stand there.

    Args:
        tensor: of ``TENSORS``.
        parent: the outer element, or a fan-out inside it that limits bandwidth.
        child: the inner one; one more than the last is the MAC.
        parents: instances of the parent at most.
        children: instances of the child at most.
        sharers: units that one word goes to, or is added up from, in one step at most.
    """

    tensor: int
    parent: int
    child: int
    parents: float
    children: float
    sharers: float


@dataclass(frozen=True)
class Tile:
    """What a tensor takes at an element."""

    element: int
    tensor: int
    bits_per_word: int


@dataclass(frozen=True)
class Limit:
    """Tiles that have to fit into some bits of a physical memory together."""

    tiles: Sequence[Tile]
    bits: float


def tensor_words(shape: Shape) -> list[int]:
    """Return the words of each tensor that the layer touches.

    Raises:
        LayerError: more MACs than the model can count.
    """
    whole = Hierarchy([MemoryElement(name="all"), MemoryElement(name="once")])
    cost, status = HierarchyEvaluator(shape, whole).evaluate([[], []])
    if cost is None:
        raise LayerError(f"a layer of {shape.macs} MACs: {status}; allowed: fewer than 2^58")
    return [int(each.parent_words) for each in cost.traffic if each.parent == "all"]


def _sharing(shape: Shape, size: Mapping[str, int]) -> list[int]:
    """Return how many MACs of the layer use one word of each tensor at most (H10.3)."""
    input_users = size["K"]
    for output, window, stride, dilation in zip(
        "PQ", "RS", shape.stride, shape.dilation, strict=True
    ):
        common = math.gcd(stride, dilation)
        outputs = math.ceil(size[output] / (dilation // common))
        input_users *= min(outputs, math.ceil(size[window] / (stride // common)))
    reduced = size["C"] * size["R"] * size["S"]
    return [input_users, size["N"] * size["P"] * size["Q"], reduced]


class CostFloors:
    """Least costs of a layer on an accelerator, given the least words that move.

    Attributes:
        boundaries: in the order of all arrays.
        words: of each tensor.
        size: extents by dimension.
        macs: of the layer.
        evaluator: the model.
        spatial: of each fan-out, by number, the most units of each dimension.
    """

    def __init__(self, evaluator: HierarchyEvaluator) -> None:
        self.evaluator = evaluator
        self.macs = evaluator.shape.macs
        self.words = tensor_words(evaluator.shape)
        self.size = dict(zip(DIMS, evaluator.shape.native(), strict=True))
        self._elements, self._mac = evaluator.hierarchy.native()
        self.spatial = {
            element: self._spatial(element)
            for element, each in enumerate(self._elements)
            if "size" in each
        }
        sharing = _sharing(evaluator.shape, self.size)
        self.boundaries = [
            Boundary(
                tensor,
                parent,
                child,
                self.units(0, parent),
                self.units(0, child),
                min(self.units(parent, child, tensor), sharing[tensor]),
            )
            for tensor, parent, child, _ in evaluator.prices
        ]

    def units(self, first: int, end: int, together: int | None = None) -> float:
        """Return the units that fan-outs among some elements make at most.

        Args:
            first: element.
            end: element after the last.
            together: only of fan-outs that serve all their units of a tensor at once.
        """
        units = 1
        for element, most in self.spatial.items():
            shared = together is None or self._elements[element]["together"][together]
            if first <= element < end and shared:
                units *= min(self._elements[element]["size"], math.prod(most.values()))
        # Every unit at work executes a MAC.
        return min(units, self.macs)

    @property
    def fanouts(self) -> list[tuple[int, dict[str, int]]]:
        """Units of each fan-out at most, and how many of them may share each dimension."""
        return [(self._elements[each]["size"], most) for each, most in self.spatial.items()]

    def _spatial(self, element: int) -> dict[str, int]:
        """Return the most units of each dimension that may have a loop at a fan-out (H2.1)."""
        rules = self.evaluator.hierarchy.rules
        most = rules[element].units
        return {
            dim: min(self.size[dim], most.get(dim, self.size[dim]))
            for dim in looping(rules, element)
        }

    @cached_property
    def limits(self) -> list[Limit]:
        """Capacities below the first memory, which has room for all."""
        found = []
        for pool, memory in list(enumerate(self._elements))[1:]:
            tiles = [
                Tile(element, tensor, part["width"][tensor] * part["buffers"])
                for element, part in enumerate(self._elements)
                if part.get("pool") == pool
                for tensor in range(len(TENSORS))
                if part["keeps"][tensor]
            ]
            for tensor, bits in enumerate(memory["capacity"] if tiles else ()):
                together = [each for each in tiles if tensor in (each.tensor, len(TENSORS))]
                found += [Limit(together, bits)] if bits < math.inf else []
        return found

    def is_mac(self, boundary: Boundary) -> bool:
        """Say whether the words of a boundary go to the MAC."""
        return boundary.child == len(self._elements)

    # ---- Words ----------------------------------------------------------------------------------

    def moved(self) -> tuple[Values, Values]:
        """Return the least words of parents and of children, each float64[B, 1] (H10.2, H10.3)."""
        parents, children = self.once(), self.once()
        for b, boundary in enumerate(self.boundaries):
            if self.is_mac(boundary) and not self.latched(boundary.tensor):
                parents[b] = np.maximum(parents[b], self.macs / boundary.sharers)
                children[b] = self.macs
        return parents, children

    def once(self) -> Values:
        """Return the residencies if every word comes once, float64[B, 1] (H10.1)."""
        return np.array([[float(self.words[each.tensor])] for each in self.boundaries])

    def of_first(self) -> tuple[Values, Values]:
        """Return the least words of the first parent and the first child (H10.4)."""
        parents, children = self.moved()
        return (
            parents / np.array([[each.parents] for each in self.boundaries]),
            children / np.array([[each.children] for each in self.boundaries]),
        )

    def latched(self, tensor: int) -> bool:
        """Say whether MACs keep their words of a tensor for the next step."""
        return self.evaluator.conventions.latch or bool(self._mac["latch"][tensor])

    # ---- Costs ----------------------------------------------------------------------------------

    @cached_property
    def energy_prices(self) -> Values:
        """PJ of an access of each kind, float64[B, 5]."""
        return np.array([[energy for energy, _ in kinds] for *_, kinds in self.evaluator.prices])

    @cached_property
    def port_prices(self) -> Values:
        """Cycles of an access of each kind at each port that is limited, float64[ports, B, 5]."""
        cycles = np.array([[ports for _, ports in kinds] for *_, kinds in self.evaluator.prices])
        by_port = cycles.reshape(*cycles.shape[:2], -1).transpose(2, 0, 1)
        return by_port[by_port.any(axis=(1, 2))]

    def flows(self, parents: Values, children: Values, fresh: Values) -> Values:
        """Return the least accesses of each kind, float64[B, 5, n] (H4).

        Args:
            parents: words, float64[B, n].
            children: likewise.
            fresh: float64[B], of outputs, arrivals without an older value at most.
        """
        conventions = self.evaluator.conventions
        found = np.zeros((len(self.boundaries), 5, parents.shape[1]))
        for b, boundary in enumerate(self.boundaries):
            parent, child = parents[b], children[b]
            if boundary.tensor != OUTPUT:
                found[b, 0], found[b, 3], found[b, 4] = parent, child, child
                continue
            older = np.maximum(0.0, parent - fresh[b])
            share = np.divide(older, parent, out=np.zeros_like(older), where=parent > 0)
            back = child * share * (conventions.psum != "destination")
            found[b] = older, parent, child * conventions.drains, back, child + back
        return found

    def fresh(self) -> tuple[Values, Values]:
        """Return the most arrivals without an older value, at all parents and at the first."""
        outputs = 0 if self.evaluator.conventions.psum == "bias" else self.words[OUTPUT]
        reduced = self.size["C"] * self.size["R"] * self.size["S"]
        of_all = [outputs * min(each.parents, reduced) for each in self.boundaries]
        return np.array(of_all, float), np.full(len(of_all), float(outputs))

    def energy_nj(self, energy_pj: Values, latency: Values) -> Values:
        """Return the energy of accesses that cost so much, with that of MACs and leakage."""
        mac_pj, leak_pj = self._mac["pj"], self._mac["leak_pj"]
        # Where no tiles fit the latency is infinite.
        leaked = leak_pj * latency if leak_pj else 0.0
        found: Values = (energy_pj + self.macs * mac_pj + leaked) / 1000
        return found

    def latency_cycles(
        self, compute: Values, ports: Values, edges: tuple[Values, Values]
    ) -> Values:
        """Return the least latency, float64[n] (H10.6).

        Args:
            compute: cycles, float64[n].
            ports: cycles of each for all its bits, float64[ports, n].
            edges: words of the first parent and the first child in the first step, of outputs in
                the last, each float64[B, n].
        """
        total = np.zeros(ports.shape[1])
        elsewhere = np.zeros_like(ports)  # what children expose that a port does not serve
        if self.evaluator.conventions.exposed and len(ports):
            flows = self.flows(*edges, edges[0].max(axis=1, initial=0.0))
            for child in range(1, len(self._elements)):
                own = [b for b, each in enumerate(self.boundaries) if each.child == child]
                served = np.any(self.port_prices[:, own], axis=(1, 2), keepdims=True)[:, :, 0]
                for outputs in (False, True):
                    moved = [b for b in own if (self.boundaries[b].tensor == OUTPUT) == outputs]
                    cycles = np.einsum("pbk,bkn->pn", self.port_prices[:, moved], flows[moved])
                    total += cycles.max(axis=0)
                    elsewhere += np.where(served, 0.0, cycles.max(axis=0))
        least: Values = np.maximum(total + compute, (ports + elsewhere).max(axis=0, initial=0.0))
        return least


def least_steps(extents: Sequence[int], units: int, _known: dict[Any, int] | None = None) -> int:
    """Return the least product of chunks if units share the extents among them (H10.5)."""
    known = {} if _known is None else _known
    if not extents:
        return 1
    key = (len(extents), units)
    if key in known:
        return known[key]
    first, *rest = extents
    least, perfect = math.prod(extents), -(-math.prod(extents) // units)
    count = min(first, units)
    while count >= 1 and least > perfect:
        chunk = -(-first // count)
        if chunk >= least:
            break
        least = min(least, chunk * least_steps(rest, units // -(-first // chunk), known))
        # The next larger chunk.
        count = -(-first // chunk) - 1
    known[key] = least
    return least
