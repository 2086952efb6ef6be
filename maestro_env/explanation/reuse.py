"""Accesses that a mapping avoids: words used again where they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from maestro_env.evaluation.cost import Cost
from maestro_env.explanation.traffic import TENSORS


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
