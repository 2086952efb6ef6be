"""Collects the layers of a network while its operators are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from maestro_env.base.errors import LayerError
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.lowering import TRANSPOSED, Convolution, NotMapped, Work
from maestro_env.workloads.network import LeftOut, Network, common_batch, gather, short_name


class Collection:
    """The layers of a network so far, what was left out, and what is approximated."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.batch: int | None = None
        """Inputs that one execution takes; None for the batch of the convolutions."""
        self._batches: set[int] = set()
        self.layers: list[Layer] = []
        """In the order of execution, repeats included."""
        self._left_out: list[LeftOut] = []
        self._noted: dict[str, list[str]] = {}
        self._transposed = [0, 0]

    def add(
        self, name: str, operator: str, describe: Callable[[], Sequence[Work]], times: int = 1
    ) -> None:
        """Add the layers of an operator, or what it is left out for.

        Args:
            name: of the operator.
            operator: its type, as the source calls it.
            describe: returns what it computes; a ``LayerError`` is the reason to leave it out.
            times: how often it is executed.
        """
        macs, name = None, short_name(name)
        try:
            works = [work for work in describe() if work.macs]
            macs = times * sum(work.macs for work in works)
            lowered = (layer for work in works for layer in work.layers(name))
            layers = [replace(layer, count=layer.count * times) for layer in lowered]
        except LayerError as error:
            known = times * error.macs if isinstance(error, NotMapped) else macs
            self.leave_out(name, operator, known, str(error))
            return
        self.layers += layers
        self._batches |= {work.batch for work in works if isinstance(work, Convolution)}
        for note in dict.fromkeys(note for work in works for note in work.notes):
            self.note(note, name)
            if note == TRANSPOSED:
                self._transposed[0] += macs
                self._transposed[1] += sum(layer.count * layer.macs for layer in layers)

    def leave_out(self, name: str, operator: str, macs: int | None, reason: str) -> None:
        """Add an operator that no layer stands for."""
        self._left_out.append(LeftOut(short_name(name), operator, macs, reason))

    def note(self, sentence: str, name: str) -> None:
        """Add what is approximated in an operator; a sentence is said once."""
        self._noted.setdefault(sentence, []).append(name)

    def network(self) -> Network:
        """Return the network.

        Raises:
            NetworkError: there is no layer.
        """
        batch = common_batch(self._batches) if self.batch is None else self.batch
        notes = map(self._sentence, self._noted)
        return gather(self._name, self.layers, self._left_out, notes, batch)

    def _sentence(self, note: str) -> str:
        first, *others = self._noted[note]
        more = f" and {len(others)} more" if others else ""
        ratio = ""
        if note == TRANSPOSED:
            before, after = self._transposed
            ratio = f"; {after / before:.3g} times the MACs"
        return f"{first}{more}: {note}{ratio}"
