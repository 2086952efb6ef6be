"""A network: its distinct layers, how often each is executed, what is left out, and its reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from maestro_env.base.checks import MAX_NAME, require_integer, require_name, tuple_of
from maestro_env.base.errors import LayerError, NetworkError
from maestro_env.workloads.layer import Layer, short_name
from maestro_env.workloads.lowering import TRANSPOSED, Convolution, NotMapped, Work

LayerShape = tuple[str, tuple[tuple[str, int], ...], tuple[int, int]]
"""What makes two layers equal: operator, extents, stride."""


def shape_of(layer: Layer) -> LayerShape:
    """Return what a layer computes, whatever its name and count."""
    return layer.operator, tuple(layer.extents.items()), layer.stride


@dataclass(frozen=True)
class LeftOut:
    """An unsupported operator with MACs.

    Args:
        name: of the operator in the network.
        operator: its type as the source calls it, such as ``Conv3d``.
        macs: of all its executions; None where unknown.
        reason: why it is not supported.
    """

    name: str
    operator: str
    macs: int | None
    reason: str


@dataclass(frozen=True)
class Network:
    """The layers of a network, and what is missing or approximated.

    Args:
        name: in tables and files, at most 200 characters.
        layers: at least one; no two compute the same, and their names differ. They are in the order
            of first execution; ``Layer.count`` is the number of executions.
        left_out: unsupported operators with MACs.
        notes: what the layers approximate, and how, one sentence each.
        batch: inputs that one execution of the network takes.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        NetworkError: no layers, two of one name, or two that compute the same; a batch below 1.
    """

    name: str
    layers: tuple[Layer, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    batch: int = 1

    def __post_init__(self) -> None:
        require_name("a network's name", self.name, NetworkError, "such as resnet50")
        for field, kind in (("layers", Layer), ("left_out", LeftOut), ("notes", str)):
            values = tuple_of(f"a network's {field}", getattr(self, field), kind, "one or more")
            object.__setattr__(self, field, values)
        object.__setattr__(self, "batch", require_integer("batch", self.batch, NetworkError))
        if not self.layers:
            raise NetworkError(f"network {self.name}: no layers; allowed: at least one")
        self._check_distinct()

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all executions of the layers."""
        return sum(layer.count * layer.macs for layer in self.layers)

    @property
    def left_out_macs(self) -> int:
        """Multiply-accumulates left out, as far as they are known."""
        return sum(each.macs or 0 for each in self.left_out)

    def _check_distinct(self) -> None:
        names: set[str] = set()
        shapes: dict[LayerShape, str] = {}
        for layer in self.layers:
            shape = shape_of(layer)
            if layer.name in names:
                raise NetworkError(f"network {self.name}: two layers are called {layer.name!r}")
            if shape in shapes:
                raise NetworkError(
                    f"network {self.name}: {shapes[shape]!r} and {layer.name!r} compute the same; "
                    "give one layer, with their number as its count"
                )
            names.add(layer.name)
            shapes[shape] = layer.name


def gather(
    name: str,
    executed: Iterable[Layer],
    left_out: Iterable[LeftOut] = (),
    notes: Iterable[str] = (),
    batch: int = 1,
) -> Network:
    """Count equal layers and return the network of them.

    Args:
        name: of the network.
        executed: every layer in the order of execution, repeats included. Equal ones are counted
            under the name of the first; a name that another layer has already gets a number.
        left_out: unsupported operators with MACs.
        notes: what is approximated; repeats are dropped.
        batch: inputs that one execution takes.

    Raises:
        NetworkError: there is no layer; the message says what was left out.
    """
    counts: dict[LayerShape, int] = {}
    first: dict[LayerShape, Layer] = {}
    for layer in executed:
        shape = shape_of(layer)
        counts[shape] = counts.get(shape, 0) + layer.count
        first.setdefault(shape, layer)
    left_out = tuple(left_out)
    if not first:
        reasons = [f"{each.operator} {each.name}: {each.reason}" for each in left_out]
        more = f" (left out: {'; '.join(reasons[:3])})" if reasons else ""
        raise NetworkError(f"{name}: no operator that can be mapped{more}")
    names = _distinct_names([layer.name for layer in first.values()])
    layers = tuple(
        replace(layer, name=each, count=require_integer("a count", counts[shape], NetworkError))
        for each, (shape, layer) in zip(names, first.items(), strict=True)
    )
    return Network(short_name(name), layers, left_out, tuple(dict.fromkeys(notes)), batch)


def batch_of(inputs: Iterable[Sequence[int]]) -> int:
    """Return the first dimension of the first shape that has two or more; 1 without one."""
    return next((max(shape[0], 1) for shape in inputs if len(shape) > 1), 1)


def common_batch(batches: Iterable[int]) -> int:
    """Return the batch of a network of which parts have these: 1 unless they are alike."""
    found = set(batches)
    return max(found.pop(), 1) if len(found) == 1 else 1


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Number the names that repeat an earlier one: ``scores``, ``scores_2``, ``scores_3``."""
    taken: dict[str, int] = {}
    for name in map(short_name, names):
        number, candidate = 1, name
        while candidate in taken:
            number = taken[name] = taken[name] + 1
            ending = f"_{number}"
            candidate = name[: MAX_NAME - len(ending)] + ending
        taken[candidate] = 1
    return list(taken)


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
