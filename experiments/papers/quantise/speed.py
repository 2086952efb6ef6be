"""How long a step of several agents takes: one layer after another, or all in one call.

Weights are random, as no time depends on them. Agents have 16 inputs and 10 outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.base.native_learning import Perceptrons
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.store.timing import measured, microseconds, tell_circumstances
from maestro_env.mappers.papers.quantised.quantiser import Layers
from maestro_env.mappers.parts.arrays import Floats32

try:
    import torch

    from maestro_env.mappers.parts.threads import one_thread
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro-env quantise speed", str(error.name), "rl") from error

WIDTHS: Mapping[str, tuple[int, ...]] = {
    "2x64": (64, 64),
    "3x256": (256, 256, 256),
    "3x512": (512, 512, 512),
    "3x2048": (2048, 2048, 2048),
}
"""Hidden layers by name."""

STACKED = "torch, stacked"

_INPUTS, _OUTPUTS = 16, 10

# Calls within the core in one from Python.
_KERNEL_CALLS = 20

Step = Callable[[Floats32], object]
"""What gives all agents' outputs of float32[N, B, 16]."""


@dataclass(frozen=True)
class Timed:
    """The median time of a step, in microseconds."""

    network: str
    agents: int
    copies: int
    method: str
    repeats: int
    us: float


def speed(
    networks: Sequence[str],
    agents: int,
    copies: Sequence[int],
    repeats: int,
    others: bool,
    csv: str | None,
) -> int:
    """Measure, print, write after every network if asked to, and return the exit status."""
    if others:
        _require_onnx_runtime()
    tell_circumstances(csv)
    cases = {
        f"{network}, {number} copies": partial(_times, network, agents, number, repeats, others)
        for network in networks
        for number in copies
    }
    rows, status = measured(cases, csv)
    if rows:
        _table(rows).print()
    return status


def _require_onnx_runtime() -> None:
    """Raise MissingExtraError if it is not installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("--others", str(error.name), "runtimes") from error


def _times(network: str, agents: int, copies: int, repeats: int, others: bool) -> Iterator[Timed]:
    """Yield the medians of all methods, which take turns."""
    rng = np.random.default_rng(0)
    widths = (_INPUTS, *WIDTHS[network], _OUTPUTS)
    layers = Layers(
        [
            rng.normal(0, 1 / np.sqrt(before), (agents, before, after)).astype(np.float32)
            for before, after in pairwise(widths)
        ],
        [rng.normal(0, 0.1, (agents, width)).astype(np.float32) for width in widths[1:]],
        "tanh",
    )
    inputs = rng.standard_normal((agents, copies, _INPUTS), np.float32)
    steps = _steps(layers, others, copies == 1)
    with one_thread():
        for step in steps.values():
            step(inputs)
        calls = [partial(step, inputs) for step in steps.values()]
        taken = [[microseconds(call) for call in calls] for _ in range(repeats)]
    for (method, step), times in zip(steps.items(), zip(*taken, strict=True), strict=True):
        us = median(times) / (_KERNEL_CALLS if isinstance(step, _Kernel) else 1)
        yield Timed(network, agents, copies, method, repeats, us)


def _steps(layers: Layers, others: bool, kernels: bool) -> dict[str, Step]:
    """Return what computes a step, by method.

    Args:
        layers: of all agents.
        others: also by other programs.
        kernels: also several steps in one call; with many rows a call from Python is nothing.
    """
    stacked = _Stacked(layers)
    ranges = [
        (np.full(len(each), -4, np.float32), np.full(len(each), 4, np.float32))
        for each in layers.weights
    ]
    fused, integers = layers.fused(), layers.quantised(8, ranges)
    steps: dict[str, Step] = {
        "torch, each": _Each(layers),
        STACKED: stacked,
        "numpy": partial(_in_numpy, layers),
        "fused": fused.run,
        "fused int8": integers.run,
    }
    if kernels:
        steps |= {"fused, kernel": _Kernel(fused), "fused int8, kernel": _Kernel(integers)}
    if others:
        steps["torch, compiled"] = partial(_outputs, torch.compile(stacked.layers))
        steps["ONNX Runtime"] = _in_onnx_runtime(layers)
    return steps


@dataclass(frozen=True)
class _Kernel:
    """Several steps in one call, so that Python hardly counts."""

    networks: Perceptrons

    def __call__(self, inputs: Floats32) -> object:
        return self.networks.run(inputs, calls=_KERNEL_CALLS)


class _Stacked:
    """All agents' layers as one batched product after another."""

    def __init__(self, layers: Layers) -> None:
        self._weights = [torch.from_numpy(each) for each in layers.weights]
        self._biases = [torch.from_numpy(each[:, np.newaxis]) for each in layers.biases]

    def layers(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the outputs [N, B, 10] of inputs [N, B, 16]."""
        last = len(self._weights) - 1
        for layer, (weights, biases) in enumerate(zip(self._weights, self._biases, strict=True)):
            hidden = torch.baddbmm(biases, hidden, weights)
            if layer < last:
                hidden = hidden.tanh()
        return hidden

    def __call__(self, inputs: Floats32) -> object:
        return _outputs(self.layers, inputs)


class _Each:
    """One agent after another, as modules of PyTorch are called."""

    def __init__(self, layers: Layers) -> None:
        self._agents = [
            _Stacked(
                Layers(
                    [each[agent : agent + 1] for each in layers.weights],
                    [each[agent : agent + 1] for each in layers.biases],
                    layers.activation,
                )
            )
            for agent in range(len(layers.weights[0]))
        ]

    def __call__(self, inputs: Floats32) -> object:
        return [agent(inputs[at : at + 1]) for at, agent in enumerate(self._agents)]


def _outputs(layers: Callable[[torch.Tensor], torch.Tensor], inputs: Floats32) -> object:
    with torch.inference_mode():
        return layers(torch.from_numpy(inputs)).numpy()


def _in_numpy(layers: Layers, inputs: Floats32) -> object:
    hidden = inputs
    last = len(layers.weights) - 1
    for layer, (weights, biases) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        hidden = hidden @ weights + biases[:, np.newaxis]
        if layer < last:
            hidden = np.tanh(hidden)
    return hidden


def _in_onnx_runtime(layers: Layers) -> Step:
    """Return the stacked layers as ONNX Runtime runs them, on one thread."""
    from onnx import TensorProto, checker, helper, numpy_helper
    from onnxruntime import InferenceSession, SessionOptions

    nodes, constants, hidden, last = [], [], "inputs", len(layers.weights) - 1
    for layer, (weights, biases) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        names = f"weights{layer}", f"biases{layer}", f"products{layer}", f"sums{layer}"
        constants.append(numpy_helper.from_array(weights, names[0]))
        constants.append(numpy_helper.from_array(biases[:, np.newaxis], names[1]))
        nodes.append(helper.make_node("MatMul", [hidden, names[0]], [names[2]]))
        nodes.append(helper.make_node("Add", [names[2], names[1]], [names[3]]))
        hidden = names[3]
        if layer < last:
            nodes.append(helper.make_node("Tanh", [hidden], [f"hidden{layer}"]))
            hidden = f"hidden{layer}"
    agents = len(layers.weights[0])
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [agents, "rows", width])
        for name, width in (("inputs", _INPUTS), (hidden, _OUTPUTS))
    ]
    graph = helper.make_graph(nodes, "agents", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda inputs: session.run(None, {"inputs": inputs})[0]


def _table(rows: Sequence[Timed]) -> Table:
    stacked = {(row.network, row.copies): row.us for row in rows if row.method == STACKED}
    return Table(
        f"{rows[0].agents} agents, a step of all: median microseconds of {rows[0].repeats}",
        ("network", "copies", "method"),
        ("us a step", "times\nfaster"),
        [
            (
                row.network,
                row.copies,
                row.method,
                significant(row.us),
                f"{stacked[row.network, row.copies] / row.us:.2f}",
            )
            for row in rows
        ],
        f"times faster: than {STACKED}; kernel: without a call from Python",
    )
