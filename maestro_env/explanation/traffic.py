"""Words that a mapping moves and avoids to move, their energy, and how full it makes buffers.

Columns of arrays are ``TENSORS``. What ends in ``_of`` is of the model ``hierarchy``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.elements import TENSORS, FanoutElement, MemoryElement
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.hierarchy.evaluation import HierarchyCost

PLACES = ("L1", "clusters", "networks", "L2", "off-chip")
"""Where words cost energy, from the PEs outwards."""

MACS = "MACs"
"""Where computation costs energy, beside ``PLACES``."""

PerMemory = NDArray[np.float64]


@dataclass(frozen=True)
class Traffic:
    """Accesses of each memory.

    Args:
        memories: ``L1``; ``clusters``, the cluster buffers, if the mapping has clusters; ``L2``;
            ``off-chip``, the main memory; or any physical memories. From the PEs outwards.
        reads: words read, float64[memories, tensors].
        writes: words written, float64[memories, tensors].
    """

    memories: tuple[str, ...]
    reads: PerMemory
    writes: PerMemory

    @property
    def words(self) -> PerMemory:
        """Words read and written, float64[memories, tensors]."""
        return self.reads + self.writes


@dataclass(frozen=True)
class Energy:
    """Where the energy of a mapping goes; all parts are in nJ and add up to ``energy_nj``.

    Args:
        memories: as in ``Traffic``, and ``networks`` where their words cost energy.
        macs: of all multiply-accumulates.
        accesses: of the accesses of each memory, or the words of the networks,
            float64[memories, tensors].
        leakage: of all memories.
    """

    memories: tuple[str, ...]
    macs: float
    accesses: PerMemory
    leakage: float = 0.0

    @property
    def total(self) -> float:
        """The energy of the layer."""
        return self.macs + float(self.accesses.sum()) + self.leakage

    @property
    def parts(self) -> dict[tuple[str, str], float]:
        """All parts by place and tensor, those of the MACs first."""
        rows = zip(self.memories, self.accesses.tolist(), strict=True)
        named = {
            (place, tensor): part
            for place, row in rows
            for tensor, part in zip(TENSORS, row, strict=True)
        }
        return {(MACS, "computation"): self.macs, **named}


def count_traffic(cost: Cost) -> Traffic:
    """Return the accesses of each memory, from a cost of the model ``exact``."""
    figures = cost.figures()

    def words(name: str) -> list[float]:
        return [figures[f"{tensor}_{name}"] for tensor in TENSORS]

    def cluster_words(name: str) -> list[float]:
        return [
            sum(getattr(each, f"{tensor}_{name}") for each in cost.clusters) for tensor in TENSORS
        ]

    # Every word that comes to L2 from main memory is written into it; outputs also come from PEs.
    fetched = words("l2_writes")
    fetched[-1] -= figures["output_leaving_words"]
    sent = [0.0, 0.0, figures["offchip_write_words"]]
    rows = {
        "L1": (words("l1_reads"), words("l1_writes")),
        "clusters": (cluster_words("reads"), cluster_words("writes")),
        "L2": (words("l2_reads"), words("l2_writes")),
        "off-chip": (fetched, sent),
    }
    if not cost.clusters:
        del rows["clusters"]
    reads, writes = zip(*rows.values(), strict=True)
    return Traffic(tuple(rows), np.array(reads), np.array(writes))


def count_energy(cost: Cost, hardware: Hardware) -> Energy:
    """Return where the energy goes, from a cost of the model ``exact`` on an accelerator."""
    traffic, energies = count_traffic(cost), hardware.energies
    prices = {
        "L1": energies.l1_macs,
        "clusters": energies.l1_macs,
        "networks": energies.noc_macs,
        "L2": energies.l2_macs,
        "off-chip": energies.offchip_macs,
    }
    words = dict(zip(traffic.memories, traffic.words, strict=True))
    if energies.noc_macs:
        words["networks"] = _network_words(cost)
    places = tuple(place for place in PLACES if place in words)
    nj = [energies.mac_nj * prices[place] * words[place] for place in places]
    return Energy(places, energies.mac_nj * cost.figures()["macs"], np.array(nj))


def _network_words(cost: Cost) -> PerMemory:
    """Return the words that units of all levels take in and send up, float64[tensors]."""
    figures = cost.figures()
    words: PerMemory = np.array(
        [figures["input_l1_writes"], figures["filter_l1_writes"], figures["output_leaving_words"]]
    )
    for each in cost.clusters:
        words += [each.input_writes, each.filter_writes, each.output_writes]
    return words


@dataclass(frozen=True)
class Stage:
    """One place where words of a tensor are used again.

    Args:
        place: ``L1``, ``network`` (one word goes to several units, or the partial sums of several
            become one), ``cluster buffers`` or ``L2``. Of outputs ``L1 and network``, as the words
            that leave the PEs are not counted one by one.
        wanted: words wanted from it.
        moved: words that it took from, or sent to, the memory behind it.
    """

    place: str
    wanted: float
    moved: float

    @property
    def avoided(self) -> float:
        """Accesses of the memory behind it that it saves."""
        return self.wanted - self.moved

    @property
    def factor(self) -> float:
        """How often a word is used there, on average."""
        return self.wanted / self.moved


def count_reuse(cost: Cost) -> dict[str, tuple[Stage, ...]]:
    """Return the stages of each tensor, from the PEs to main memory.

    What the first stage wants is one word of each tensor a MAC; what a stage moves, the next one is
    asked for; what the last one moves are the words read from main memory, or of outputs the words
    written to it. Those are counted by a cost of the model ``exact``.
    """
    return {tensor: tuple(_chain(cost, tensor)) for tensor in TENSORS}


def _chain(cost: Cost, tensor: str) -> list[Stage]:
    moved = cost.figures()
    counts = [("", moved["macs"])]
    if tensor == "output":
        steps = [each.output_writes for each in reversed(cost.clusters)]
        steps.append(moved["output_leaving_words"])
        places = ["L1 and network", *(["cluster buffers and network"] * len(cost.clusters))]
        counts += list(zip(places, steps, strict=True))
        counts.append(("L2", moved["offchip_write_words"]))
    else:
        counts.append(("L1", moved[f"{tensor}_l1_writes"]))
        for each in reversed(cost.clusters):
            counts.append(("network", getattr(each, f"{tensor}_reads")))
            counts.append(("cluster buffers", getattr(each, f"{tensor}_writes")))
        counts.append(("network", moved[f"{tensor}_l2_reads"]))
        counts.append(("L2", moved[f"{tensor}_l2_writes"]))
    return [Stage(place, wanted, words) for (_, wanted), (place, words) in pairwise(counts)]


@dataclass(frozen=True)
class Buffer:
    """One kind of buffer; L1 is that of one PE.

    Args:
        name: ``L1`` or ``L2``.
        needed_bytes: without which the mapping does not run.
        used_bytes: with what is kept in L2 because it fits.
        capacity_bytes: there are.
    """

    name: str
    needed_bytes: float
    used_bytes: float
    capacity_bytes: int

    @property
    def filled(self) -> float:
        """Share of the capacity that is used."""
        return self.used_bytes / self.capacity_bytes


@dataclass(frozen=True)
class Buffers:
    """The buffers under a mapping.

    Args:
        l1: of one PE.
        l2: of all.
        cluster_bytes: what the cluster buffers take of the L1 of a PE.
        resident: tensors that L2 keeps whole, and so reads from main memory once.
        hold_bytes: least L2 with which every word passes main memory once.
    """

    l1: Buffer
    l2: Buffer
    cluster_bytes: float
    resident: tuple[str, ...]
    hold_bytes: float


def fill_buffers(cost: Cost, hardware: Hardware) -> Buffers:
    """Return how full the buffers are, from a cost of the model ``exact`` on an accelerator."""
    figures = cost.figures()
    l1, l2, kept = figures["l1_bytes"], figures["l2_bytes"], int(figures["l2_resident_tensors"])
    return Buffers(
        Buffer("L1", l1, l1, hardware.l1_bytes),
        Buffer("L2", l2, figures["l2_used_bytes"], hardware.l2_bytes),
        figures["cluster_l1_bytes"],
        tuple(tensor for bit, tensor in enumerate(TENSORS) if kept >> bit & 1),
        figures["l2_hold_bytes"],
    )


def _accesses(
    hierarchy: Hierarchy, cost: HierarchyCost
) -> Iterator[tuple[MemoryElement, MemoryElement, str, float, float]]:
    """Yield a memory, the physical one, a tensor, and words read and written, at each boundary."""
    elements = {element.name: element for element in hierarchy.elements}
    for moved in cost.traffic:
        for name, reads, writes in (
            (moved.parent, moved.parent_reads, moved.parent_writes),
            (moved.child, moved.child_reads, moved.child_writes),
        ):
            memory = elements.get(name)
            if isinstance(memory, MemoryElement):
                pool = elements[memory.pool or name]
                assert isinstance(pool, MemoryElement)
                yield memory, pool, moved.tensor, reads, writes


def traffic_of(hierarchy: Hierarchy, cost: HierarchyCost) -> Traffic:
    """Return the accesses of each physical memory, from the innermost."""
    memories = tuple(cost.tile_bits)[::-1]
    words = np.zeros((2, len(memories), len(TENSORS)))
    for _, pool, tensor, *counts in _accesses(hierarchy, cost):
        words[:, memories.index(pool.name), TENSORS.index(tensor)] += counts
    return Traffic(memories, *words)


def energy_of(hierarchy: Hierarchy, cost: HierarchyCost) -> Energy:
    """Return the energy by physical memory and fan-out, from the innermost, and leakage (H7)."""
    elements = {element.name: element for element in hierarchy.elements}
    places = list(elements)
    picojoules = {name: dict.fromkeys(TENSORS, 0.0) for name in places}
    for memory, pool, tensor, reads, writes in _accesses(hierarchy, cost):
        bits = memory.widths(hierarchy.word_bits)[TENSORS.index(tensor)]
        energy = reads * pool.read_pj_per_bit + writes * pool.write_pj_per_bit
        picojoules[pool.name][tensor] += bits * energy
    for moved in cost.traffic:
        parent = elements[moved.parent]
        assert isinstance(parent, MemoryElement)
        bits = parent.widths(hierarchy.word_bits)[TENSORS.index(moved.tensor)]
        carried = moved.child_words + (moved.child_writes if moved.tensor == "output" else 0)
        for fanout in _between(hierarchy, moved.parent, moved.child):
            picojoules[fanout.name][moved.tensor] += bits * carried * fanout.pj_per_bit
    spent = [name for name in reversed(places) if any(picojoules[name].values())]
    rows = [[picojoules[name][tensor] / 1000 for tensor in TENSORS] for name in spent]
    accesses = np.array(rows, dtype=np.float64).reshape(len(spent), len(TENSORS))
    macs, leakage = cost.macs * hierarchy.mac.pj, hierarchy.leak_pj * cost.latency_cycles
    return Energy(tuple(spent), macs / 1000, accesses, leakage / 1000)


def _between(hierarchy: Hierarchy, parent: str, child: str) -> list[FanoutElement]:
    """Return the fan-outs between a memory and another, or the MACs."""
    names = [*hierarchy.names, child]
    inside = hierarchy.elements[names.index(parent) : names.index(child)]
    return [each for each in inside if isinstance(each, FanoutElement)]


def reuse_of(hierarchy: Hierarchy, cost: HierarchyCost, tensor: str) -> tuple[Stage, ...]:
    """Return where a tensor is reused, from the MACs, which may latch it, to the first memory."""
    stages: list[Stage] = []
    place, wanted = "MACs", cost.macs
    for moved in reversed([each for each in cost.traffic if each.tensor == tensor]):
        stages.append(Stage(place, wanted, moved.child_words))
        if fanouts := _between(hierarchy, moved.parent, moved.child):
            names = " and ".join(each.name for each in fanouts)
            stages.append(Stage(names, moved.child_words, moved.parent_words))
        place, wanted = moved.parent, moved.parent_words
    latched = stages[0].avoided > 0
    return tuple(stages[0 if latched or len(stages) == 1 else 1 :])
