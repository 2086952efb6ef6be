"""Products of the weights that exist: dense ones in double precision, and dense learners."""

from __future__ import annotations

import numpy as np
import pytest
from gate import few
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.base.native_learning import COLUMNS, SparseLinks  # noqa: E402
from maestro_env.mappers.papers.replay.layouts import Batch  # noqa: E402
from maestro_env.mappers.papers.sparse_networks import FlopMeter, SparseNetworks  # noqa: E402
from maestro_env.mappers.papers.stacked_networks import Networks  # noqa: E402
from maestro_env.mappers.papers.value_based.qmix import Qmix  # noqa: E402
from maestro_env.mappers.papers.value_based.settings import Settings  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

Floats = NDArray[np.float32]


def normal(rng: np.random.Generator, *shape: int) -> Floats:
    return rng.standard_normal(shape, np.float32)


@given(
    seed=st.integers(0, 2**32 - 1),
    inputs=st.integers(1, 40),
    outputs=st.integers(1, 40),
    # Blocks of 16, 4 and 1 registers.
    registers=st.integers(1, 38),
    density=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
)
def test_products_are_those_of_dense_matrices(
    seed: int, inputs: int, outputs: int, registers: int, density: float
) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((inputs, outputs)) < density
    weights, biases = normal(rng, inputs, outputs) * mask, normal(rng, outputs)
    columns = COLUMNS * registers
    seen, of_outputs = normal(rng, inputs, columns), normal(rng, outputs, columns)
    links = SparseLinks(mask)
    assert sorted(links.places) == np.flatnonzero(mask).tolist()
    few = weights.ravel()[links.places]

    double, gradients = weights.astype(np.float64), of_outputs.astype(np.float64)
    found = links.forward(few, biases, seen)
    np.testing.assert_allclose(found, double.T @ seen + biases[:, np.newaxis], atol=1e-4)
    of_weights, of_inputs = links.backward(few, seen, of_outputs, True)
    wanted = (seen @ gradients.T).ravel()[links.places]
    np.testing.assert_allclose(of_weights, wanted, atol=1e-3)
    np.testing.assert_allclose(of_inputs, double @ gradients, atol=1e-4)
    again, none = links.backward(few, seen, of_outputs, False)
    assert none is None
    assert (again == of_weights).all()

    cut = COLUMNS * (registers // 2)
    parts = seen[:, :cut], seen[:, cut:]
    alone = [links.forward(few, biases, np.ascontiguousarray(each)) for each in parts]
    assert (np.hstack(alone) == found).all()


@pytest.mark.parametrize(
    ("mask", "weights", "biases", "seen", "told"),
    [
        (np.ones(3, bool), 3, 1, (3, 16), r"a mask is \[inputs, outputs\]"),
        (np.ones((0, 3), bool), 0, 3, (0, 16), r"a mask is \[inputs, outputs\]"),
        (np.ones((2, 3), bool), 5, 3, (2, 16), r"weights are \[6\]"),
        (np.ones((2, 3), bool), 6, 2, (2, 16), r"biases are \[3\]"),
        (np.ones((2, 3), bool), 6, 3, (3, 16), r"inputs are \[2, columns\]"),
        (np.ones((2, 3), bool), 6, 3, (2, 15), "a multiple of 16"),
    ],
)
def test_other_shapes_are_refused(
    mask: NDArray[np.bool_], weights: int, biases: int, seen: tuple[int, int], told: str
) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=told):
        SparseLinks(mask).forward(normal(rng, weights), normal(rng, biases), normal(rng, *seen))


def made(kind: type[Networks], inputs: list[int], outputs: list[int]) -> Networks:
    """Networks with a fifth of their weights, the same of every kind."""
    networks = kind(inputs, outputs, np.random.default_rng(1), (24, 32))
    rng = np.random.default_rng(2)
    masks = [torch.ones_like(each, requires_grad=False) for each in networks.parameters]
    for mask, weights in zip(masks[::2], networks.parameters[::2], strict=True):
        mask.copy_(torch.from_numpy(rng.random(tuple(mask.shape)) < 0.2))
        weights.data *= mask
    networks.keep(masks)
    return networks


def test_sparse_networks_compute_what_dense_ones_do() -> None:
    """Networks of other inputs and outputs, and as many rows as are no multiple of a register."""
    inputs, outputs = [5, 9], [7, 3]
    dense, sparse = (made(kind, inputs, outputs) for kind in (Networks, SparseNetworks))
    rows = torch.from_numpy(normal(np.random.default_rng(3), 2, 37, 9))
    rows[0, :, 5:] = 0
    wanted, found = dense(rows), sparse(rows)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    of_dense = torch.autograd.grad((wanted**2).sum(), dense.parameters)
    of_sparse = sparse.spread(torch.autograd.grad((found**2).sum(), sparse.trained))
    for weights, gradient, expected in zip(sparse.parameters, of_sparse, of_dense, strict=True):
        exists = weights != 0 if weights.shape[1] > 1 else torch.ones_like(weights) > 0
        torch.testing.assert_close(gradient, expected * exists, atol=1e-3, rtol=1e-4)
    with sparse.whole():
        torch.testing.assert_close(sparse(rows), wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize("growth", few(["gradient", "none", "random"]))
def test_learners_do_the_same_with_either_kernels(growth: str) -> None:
    """Agents of other widths and heads, a mixer, links that move, and targets that are copied."""
    widths, heads = [6, 4], [[3, 2], [4]]
    learners = [
        Qmix(
            widths,
            heads,
            np.random.default_rng(0),
            Settings(40, (32, 32), density=0.3, growth=growth, interval=7, copy=5, kernels=kernels),
        )
        for kernels in ("dense", "sparse")
    ]
    rng = np.random.default_rng(4)
    for _ in range(20):
        seen, following = ([normal(rng, 24, width) for width in widths] for _ in range(2))
        choices = [
            rng.integers(counts, size=(24, len(counts))).astype(np.float32) for counts in heads
        ]
        rewards, dones = np.repeat(normal(rng, 24, 1), 2, 1), np.zeros((24, 2), np.float32)
        for learner in learners:
            learner.update(Batch(seen, choices, rewards, following, dones), 6)
    dense, sparse = learners
    assert sparse.meter.spent == dense.meter.spent
    masks = zip(sparse.topology.masks, dense.topology.masks, strict=True)
    assert all(bool((one == other).all()) for one, other in masks)
    for one, other in zip(sparse.networks, dense.networks, strict=True):
        with one.whole():
            for found, wanted in zip(one.parameters, other.parameters, strict=True):
                torch.testing.assert_close(found, wanted, atol=2e-4, rtol=0)


def test_operations_are_counted_from_links() -> None:
    """A layer of 3 links: each output is a product and a sum, each gradient too."""
    meter = FlopMeter()
    meter.forward("act", links=3, rows=5)
    meter.update("learn", links=3, rows=5)
    meter.dense_gradients("grow", links=3, weights=10, rows=5)
    f_sparse, f_dense = 2 * 3 * 5, 2 * 10 * 5
    assert meter.spent == {
        "act": f_sparse,
        "learn": 3 * f_sparse,
        "grow": 2 * f_sparse + f_dense,
    }
    assert meter.total == 6 * f_sparse + f_dense


def test_the_mean_of_many_updates_is_that_of_rigl() -> None:
    """Evci et al. (2020): (3 f_S dT + 2 f_S + f_D) / (dT + 1) for a step of dT updates."""
    meter, sparse, dense, interval = FlopMeter(), 50, 1000, 99
    for _ in range(interval):
        meter.update("learn", sparse, rows=1)
    meter.dense_gradients("grow", sparse, dense, rows=1)
    expected = 2 * (3 * sparse * interval + 2 * sparse + dense) / (interval + 1)
    assert meter.total / (interval + 1) == expected
