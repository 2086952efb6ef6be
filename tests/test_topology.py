"""Masks of sparse networks, how they change, and the operations that they save."""

from __future__ import annotations

import numpy as np
import pytest
from gate import few
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.mappers.parts.sparse_topology import (  # noqa: E402  # noqa: E402
    Matrix,
    SparsityError,
    Topology,
    adam_moments,
    cosine_share,
    link_counts,
    random_mask,
)

pytestmark = pytest.mark.usefixtures("one_torch_thread")

SHAPES = ((7, 12), (12, 12), (12, 3))
SIZES = [84, 144, 36]


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=6),
    st.floats(0.001, 1),
)
def test_links_hit_the_total_in_proportion_to_inputs_and_outputs(
    shapes: list[tuple[int, int]], density: float
) -> None:
    counts = link_counts(shapes, density)
    sizes = [rows * columns for rows, columns in shapes]
    assert sum(counts) == round(density * sum(sizes))
    assert all(0 <= count <= size for count, size in zip(counts, sizes, strict=True))
    # Brute force: the factor of inputs + outputs, cut at the size, by halving.
    low, high = 0.0, float(max(sizes))
    for _ in range(200):
        factor = (low + high) / 2
        exact = [min(factor * sum(shape), size) for shape, size in zip(shapes, sizes, strict=True)]
        low, high = (factor, high) if sum(exact) < sum(counts) else (low, factor)
    assert np.abs(np.subtract(counts, exact)).max() <= 1 + 1e-6


def test_all_links_of_equal_shapes_are_shared_evenly() -> None:
    assert link_counts([(10, 10)] * 3, 0.05) == [5, 5, 5]
    assert link_counts(SHAPES, 1) == SIZES


@pytest.mark.parametrize("density", [0, -0.1, 1.01, float("nan")])
def test_a_density_that_is_none_is_refused(density: float) -> None:
    with pytest.raises(SparsityError, match=r"density is .*; allowed: above 0, at most 1"):
        link_counts(SHAPES, density)


def test_all_weights_are_equally_likely() -> None:
    rng = np.random.default_rng(0)
    drawn = sum(random_mask((4, 5), 6, rng).astype(int) for _ in range(2000))
    assert drawn.sum() == 12_000
    # Five standard deviations.
    assert np.abs(drawn / 2000 - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 2000)


class Net:
    """Three layers of ReLUs whose first two matrices share a parameter, as those of agents do."""

    def __init__(self, seed: int = 0, density: float = 0.3) -> None:
        rng = np.random.default_rng(seed)
        self.parameters = [
            torch.from_numpy(rng.normal(size=size)).requires_grad_()
            for size in ((2, 12, 12), (12, 3), (3,))
        ]
        # The first matrix is padded: rows 7 to 11 are outside all matrices.
        self.parameters[0].data[0, 7:] = 0
        self.matrices = [Matrix(0, (0, slice(7), slice(12))), Matrix(0, (1,)), Matrix(1)]
        self.topology = Topology(self.parameters, self.matrices, density, rng)
        self.adam = torch.optim.AdamW(self.parameters, 0.01)
        self.seen = torch.from_numpy(rng.normal(size=(32, 12)))
        self.wanted = torch.from_numpy(rng.normal(size=(32, 3)))

    def gradients(self) -> list[torch.Tensor]:
        pair, last, bias = self.parameters
        hidden = torch.relu(self.seen @ pair[0])
        loss = ((torch.relu(hidden @ pair[1]) @ last + bias - self.wanted) ** 2).mean()
        return list(torch.autograd.grad(loss, self.parameters))

    def descend(self) -> None:
        for each, gradient, mask in zip(
            self.parameters, self.gradients(), self.topology.masks, strict=True
        ):
            each.grad = gradient * mask
        self.adam.step()

    def moments(self) -> list[list[torch.Tensor]]:
        return adam_moments(self.adam, self.parameters)

    def outside(self) -> float:
        """The largest number that a weight, or what Adam knows of it, has where there is none."""
        groups = (self.parameters, *self.moments())
        return max(
            float((each.detach() * (1 - mask)).abs().max())
            for group in groups
            for each, mask in zip(group, self.topology.masks, strict=True)
        )


def test_links_are_counted_and_all_else_exists() -> None:
    net = Net()
    assert net.topology.sizes == SIZES
    assert net.topology.links == link_counts(SHAPES, 0.3)
    assert net.outside() == 0
    assert net.topology.masks[0][0, 7:].all()
    assert net.topology.masks[2].all()


@given(
    st.integers(0, 2**32),
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.none() | st.floats(0.02, 1)),
        min_size=1,
        max_size=8,
    ),
)
def test_links_are_conserved_whatever_happens(
    seed: int, steps: list[tuple[float, float, bool, float | None]]
) -> None:
    net = Net(seed)
    links = net.topology.links
    for share, random, by_gradient, density in steps:
        net.descend()
        gradients = net.gradients() if by_gradient else None
        net.topology.evolve(share, gradients, net.moments(), random=random, density=density)
        links = links if density is None else link_counts(SHAPES, density)
        masks = [matrix.of(net.topology.masks) for matrix in net.matrices]
        assert net.topology.links == links == [int((mask == 1).sum()) for mask in masks]
        assert all(((mask == 0) | (mask == 1)).all() for mask in masks)
        assert net.outside() == 0


@pytest.mark.parametrize("random", [0, 0.25, 1])
def test_the_smallest_are_dropped_and_the_steepest_grown(random: float) -> None:
    net = Net()
    for _ in range(3):
        net.descend()
    # The last matrix, row by row, as lists.
    before = net.parameters[1].detach().flatten().tolist()
    mask = net.topology.masks[1].flatten().tolist()
    gradients = net.gradients()
    steep = gradients[1].abs().flatten().tolist()
    present = [index for index in range(36) if mask[index]]
    drops = round(0.4 * len(present))
    dropped = sorted(present, key=lambda index: abs(before[index]))[:drops]
    free = [index for index in range(36) if not mask[index] or index in dropped]
    moments = [moment[1].flatten().tolist() for moment in net.moments()]
    best = sorted(free, key=lambda index: -steep[index])[: drops - round(random * drops)]
    net.topology.evolve(0.4, gradients, net.moments(), random=random)
    now = net.topology.masks[1].flatten().tolist()
    grown = [index for index in free if now[index]]
    assert set(best) <= set(grown)
    assert len(grown) == drops
    kept = [index for index in present if index not in dropped]
    assert all(now[index] for index in kept)
    weights = net.parameters[1].detach().flatten().tolist()
    assert weights == [before[index] if index in kept else 0 for index in range(36)]
    for moment, old in zip(net.moments(), moments, strict=True):
        shown = moment[1].flatten().tolist()
        assert shown == [old[index] if index in kept else 0 for index in range(36)]


def test_what_was_just_dropped_may_grow_again() -> None:
    weights = [torch.tensor([[1.0, 2.0, 0.1, 3.0]])]
    topology = Topology(weights, [Matrix(0)], 1, np.random.default_rng(0))
    topology.evolve(0.25, [torch.tensor([[0.0, 0.0, 5.0, 0.0]])], [])
    assert weights[0].tolist() == [[1, 2, 0, 3]]
    assert topology.links == [4]


def test_growth_gradients_are_dense_and_those_of_a_dense_network_with_zeros() -> None:
    """No mask sits in the path of the gradient, which would make those of dead links 0."""
    net = Net()
    for matrix in net.matrices:
        dead = matrix.of(net.topology.masks) == 0
        gradient = matrix.of(net.gradients())
        assert (gradient[dead] != 0).double().mean() > 0.5
    # A difference quotient at one dead link.
    row, column = (net.topology.masks[1] == 0).nonzero()[0].tolist()
    expected = float(net.gradients()[1][row, column])

    def loss(nudge: float) -> float:
        pair, last, bias = (each.detach().clone() for each in net.parameters)
        last[row, column] += nudge
        hidden = torch.relu(torch.relu(net.seen @ pair[0]) @ pair[1])
        return float(((hidden @ last + bias - net.wanted) ** 2).mean())

    assert (loss(1e-5) - loss(-1e-5)) / 2e-5 == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("rule", few(["rigl", "static", "set"]))
def test_a_thousand_updates_leave_zeros_exactly_zero(rule: str) -> None:
    net = Net()
    links, first = net.topology.links, [mask.clone() for mask in net.topology.masks]
    for update in range(1, 1001):
        if update % 100 or rule == "static":
            net.descend()
        else:
            gradients = net.gradients() if rule == "rigl" else None
            net.topology.evolve(cosine_share(0.5, update / 1000), gradients, net.moments())
    assert net.topology.links == links
    assert net.outside() == 0
    changed = any((a != b).any() for a, b in zip(first, net.topology.masks, strict=True))
    assert changed == (rule != "static")


def test_adam_forgets_dropped_links_that_it_would_move_otherwise() -> None:
    """With stale moments, a link that grew from 0 moves by a step that no gradient asks for."""
    for forgets in (True, False):
        net = Net(density=1)
        for _ in range(50):
            net.descend()
        net.topology.evolve(0.5, None, net.moments() if forgets else [])
        grown = [matrix.of(net.parameters) == 0 for matrix in net.matrices]
        assert sum(int(each.sum()) for each in grown) >= sum(SIZES) // 2 - 2
        for each in net.parameters:
            each.grad = torch.zeros_like(each)
        net.adam.step()
        moved = any(
            matrix.of(net.parameters)[where].any()
            for matrix, where in zip(net.matrices, grown, strict=True)
        )
        assert moved != forgets


def test_before_the_first_step_adam_remembers_nothing() -> None:
    net = Net()
    assert net.moments() == []
    net.topology.evolve(0.5, None, net.moments())


@pytest.mark.parametrize("named", [{"share": 1.1}, {"share": 0.5, "random": -1}])
def test_shares_that_are_none_are_refused(named: dict[str, float]) -> None:
    with pytest.raises(SparsityError, match="allowed: 0 to 1"):
        Net().topology.evolve(gradients=None, moments=[], **named)


def test_equal_seeds_give_equal_masks() -> None:
    nets = [Net(seed) for seed in (0, 0, 1)]
    for net in nets:
        net.topology.evolve(0.3, None, [])
    first, same, other = (torch.cat([m.flatten() for m in net.topology.masks]) for net in nets)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_the_share_falls_from_the_first_to_zero() -> None:
    assert cosine_share(0.5, 0) == 0.5
    assert cosine_share(0.5, 0.5) == pytest.approx(0.25)
    assert cosine_share(0.5, 1) == cosine_share(0.5, 1.5) == 0
