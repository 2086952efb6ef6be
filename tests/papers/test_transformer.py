"""Mixed sparsity training: attention, schedule, operations, training and what it proposes."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from gate import few
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.accelerators.hardware import PRESETS  # noqa: E402
from maestro_env.evaluation.masks import Masks  # noqa: E402
from maestro_env.evaluation.objectives import find_objective  # noqa: E402
from maestro_env.evaluation.problem import Problem  # noqa: E402
from maestro_env.mappers.papers.sparse_networks import FlopMeter  # noqa: E402
from maestro_env.mappers.papers.transformer.corpus import TokenRows  # noqa: E402
from maestro_env.mappers.papers.transformer.model import (  # noqa: E402
    Gpt,
    GptShape,
    TransformerError,
    attention,
    seen_pairs,
)
from maestro_env.mappers.papers.transformer.proposing import (  # noqa: E402
    GptCheckpoint,
    propose,
    read_gpt,
)
from maestro_env.mappers.papers.transformer.tokens import (  # noqa: E402
    decode,
    encode,
    of_layer,
    of_machine,
)
from maestro_env.mappers.papers.transformer.training import (  # noqa: E402  # noqa: E402
    DENSE,
    Arm,
    Schedule,
    Training,
    arms,
    mean_loss,
)
from maestro_env.mappers.parts.sparse_topology import (  # noqa: E402
    SparsityError,
    adam_moments,
)
from maestro_env.mapspace.two_level_space import MapSpace  # noqa: E402
from maestro_env.workloads.finding import find_layer  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

TINY = GptShape(blocks=2, width=16, heads=2, length=24, vocabulary=11)
WINDOWS = [None, 4, 8]
every_window = pytest.mark.parametrize("window", WINDOWS)


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def sees(length: int, window: int | None) -> torch.Tensor:
    """Whether each position sees each other one."""
    back = torch.arange(length)[:, None] - torch.arange(length)
    if window is None:
        return back >= 0
    return (back >= 0) & ((back < window) | (back % window == 0))


@every_window
def test_attention_is_that_of_the_mask(window: int | None) -> None:
    query, key, value = (noise(2, 3, 24, 5, seed=seed) for seed in range(3))
    scores = (query @ key.transpose(2, 3) / 5**0.5).masked_fill(~sees(24, window), -torch.inf)
    plain = scores.softmax(dim=3) @ value
    torch.testing.assert_close(attention(query, key, value, window), plain)


@pytest.mark.parametrize(("length", "window"), [(24, None), (24, 4), (24, 24), (8, 1), (64, 16)])
def test_pairs_are_counted_as_the_mask_has_them(length: int, window: int | None) -> None:
    assert seen_pairs(length, window) == int(sees(length, window).sum())


@every_window
def test_no_token_sees_the_future(window: int | None) -> None:
    model = Gpt(TINY)
    tokens = torch.arange(24)[None] % TINY.vocabulary
    before = model(tokens, window)
    for place in (0, 7, 8, 23):
        changed = tokens.clone()
        changed[0, place] = (changed[0, place] + 1) % TINY.vocabulary
        differs = (model(changed, window) != before).any(dim=2)[0]
        assert not differs[:place].any()
        assert differs[place]
        model.zero_grad()
        model(tokens, window)[0, place].square().sum().backward()
        reached = model.positions.grad.abs().sum(dim=1) > 0
        assert reached[place]
        assert not reached[place + 1 :].any()


def test_a_cache_changes_nothing() -> None:
    model, cache = Gpt(TINY), []
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])
    whole = model(tokens)
    parts = [model(tokens[:, :3], cache=cache)]
    parts += [model(tokens[:, i : i + 1], cache=cache) for i in range(3, 7)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)


def test_the_default_has_as_many_weights_as_is_said() -> None:
    shape = GptShape()
    model = Gpt(shape)
    parameters = list(model.parameters())
    assert sum(each.of(parameters).numel() for each in model.sparse) == shape.matrices
    assert 8e5 < sum(each.numel() for each in parameters) < 9e5


def test_impossible_transformers_are_refused() -> None:
    with pytest.raises(TransformerError, match="width is 10; allowed: a multiple of the 4 heads"):
        GptShape(width=10)
    model = Gpt(TINY)
    with pytest.raises(TransformerError, match="25 tokens; allowed: at most 24"):
        model(torch.zeros(1, 25, dtype=torch.int64))
    with pytest.raises(TransformerError, match="window is 5; allowed: a divisor of 24"):
        model(torch.zeros(1, 24, dtype=torch.int64), 5)


SHARES = st.floats(0, 0.95)


@given(SHARES, SHARES, SHARES, st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_sparsity_is_exact_at_borders_and_never_jumps(
    start: float, most: float, end: float, warm_up: float, restoration: float
) -> None:
    schedule = Schedule(start, most, end, warm_up, restoration)
    assert schedule.density(0) == 1 - start
    assert schedule.density(warm_up) == 1 - most
    assert schedule.density(1) == 1 - end
    times = np.sort([*np.linspace(0, 1, 1001), warm_up, 1 - restoration])
    densities = np.array([schedule.density(time) for time in times])
    np.testing.assert_allclose(densities[(times > warm_up) & (times < 1 - restoration)], 1 - most)
    # The steepest cosine rises by pi / 2 times its height over its length.
    steepest = np.pi / 2 * 0.95 / min(warm_up, restoration) * np.diff(times)
    assert (np.abs(np.diff(densities)) <= steepest + 1e-12).all()
    mean = np.trapezoid(densities, times)
    np.testing.assert_allclose(schedule.mean_density(), mean, atol=1e-3)


def test_impossible_schedules_are_refused() -> None:
    with pytest.raises(SparsityError, match=r"most is 1\.0; allowed: 0 to below 1"):
        Schedule(most=1.0)
    with pytest.raises(SparsityError, match=r"warm_up is 0\.5, restoration 0\.6; allowed"):
        Schedule(warm_up=0.5, restoration=0.6)
    with pytest.raises(SparsityError, match="steps is 150; allowed: a multiple of the interval"):
        Arm(TINY, 150)


def counted(arm: Arm) -> int:
    """The operations of a training that has as many links as its schedule says."""
    meter, density = FlopMeter(), arm.schedule.density(0)
    for step in range(arm.steps):
        arm.charge(meter, step, round(density * arm.shape.matrices))
        if arm.evolves(step):
            density = arm.schedule.density(arm.done(step))
    return meter.total


def test_operations_are_those_of_the_closed_form() -> None:
    ways = arms(GptShape(), 4000, window=16)
    found = {name: counted(arm) for name, arm in ways.items()}
    for name, arm in ways.items():
        assert found[name] == pytest.approx(arm.planned(), rel=0.01)
    assert found["mst"] < 0.3 * found["dense"]
    assert found["early"] == pytest.approx(found["mst"], rel=0.01)
    assert found["small"] == pytest.approx(found["mst"], rel=0.05)
    # By hand, for each token of 128: three products of 12 d^2 links in each of 4 blocks and of the
    # head, and of two numbers of d for each of the 129 / 2 positions that it sees.
    of_token = 3 * (4 * (12 * 128**2 + 2 * 128 * 129 / 2) + 128 * GptShape().vocabulary)
    assert found["dense"] == 2 * of_token * 4000 * 16 * 128


RANDOM = np.random.default_rng(0)
TINY_ROWS = TokenRows(
    RANDOM.integers(TINY.vocabulary, size=(6, 25)).astype(np.int16), RANDOM.random((6, 25)) < 0.7
)
MST = Arm(TINY, 60, 4, Schedule(), changed=0.3, random=0.25, window=4, interval=5)
WAYS = {
    "dense": replace(MST, schedule=DENSE, changed=0, window=None),
    "rigl": replace(MST, schedule=Schedule.constant(0.8), random=0),
    "mst": MST,
}
every_way = pytest.mark.parametrize("arm", WAYS.values(), ids=WAYS)


@every_way
def test_weights_that_do_not_exist_are_zero(arm: Arm) -> None:
    training = Training(arm, TINY_ROWS, seed=0, rate=0.01)
    parameters, masks = list(training.model.parameters()), training.topology.masks
    before = [each.detach().clone() for each in parameters]
    for progress in training.steps():
        density = arm.schedule.density(arm.done(progress.step - progress.step % arm.interval))
        assert sum(training.topology.links) == round(density * TINY.matrices)
        moments = adam_moments(training._adam, parameters)
        for tensors_of_step in (parameters, *moments):
            assert all(
                not each[mask == 0].any() for each, mask in zip(tensors_of_step, masks, strict=True)
            )
        kept = [
            bool(((new == 0) | (new == old)).all())
            for new, old in zip(parameters, before, strict=True)
        ]
        assert all(kept) == arm.evolves(progress.step)
        before = [each.detach().clone() for each in parameters]
    if arm.schedule.end == 0:
        assert training.topology.links == training.topology.sizes


def test_a_training_does_what_it_is_charged_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention is sparse until the restoration; fewer and fewer links move, some at random."""
    windows: list[int | None] = []
    moves: list[tuple[float, float]] = []
    training = Training(MST, TINY_ROWS, seed=0)
    forward, evolve = training.model.forward, training.topology.evolve

    def spy(tokens: torch.Tensor, window: int | None = None) -> torch.Tensor:
        windows.append(window)
        return forward(tokens, window)

    def spy_on_moves(share, gradients, moments, *, random, density):  # type: ignore[no-untyped-def]
        masks = training.topology.masks
        dead = [each[mask == 0] for each, mask in zip(gradients, masks, strict=True)]
        assert sum(int((each != 0).sum()) for each in dead) > sum(map(len, dead)) / 2
        moves.append((share, random))
        evolve(share, gradients, moments, random=random, density=density)

    monkeypatch.setattr(training.model, "forward", spy)
    monkeypatch.setattr(training.topology, "evolve", spy_on_moves)
    assert len(list(training.steps())) == 60
    # A move every 5 steps, the last one at 55; what follows four fifths of that restores.
    assert windows == [4] * 45 + [None] * 15
    wanted = [0.15 * (1 + np.cos(np.pi * done / 55)) for done in range(5, 56, 5)]
    assert [share for share, _ in moves] == pytest.approx(wanted, abs=1e-12)
    assert {random for _, random in moves} == {0.25}


@pytest.mark.parametrize("arm", few(WAYS.values()))
def test_the_file_of_a_transformer_tells_what_it_cost(arm: Arm, tmp_path: Path) -> None:
    training = Training(arm, TINY_ROWS, seed=0)
    *_, last = training.steps()
    GptCheckpoint.of(training).save(tmp_path / "it.npz")
    found = read_gpt(tmp_path / "it.npz")
    assert found.arm == arm
    assert found.operations() == last.flops == training.meter.total
    tokens = torch.arange(10)[None]
    torch.testing.assert_close(found.model()(tokens), training.model(tokens), rtol=0, atol=0)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    with pytest.raises(TransformerError, match="cannot read the checkpoint"):
        read_gpt(path)
    for content in (b"", b"nothing"):
        path.write_bytes(content)
        with pytest.raises(TransformerError, match="cannot read the checkpoint"):
            read_gpt(path)
    checkpoint = GptCheckpoint.of(Training(WAYS["rigl"], TINY_ROWS, seed=0))
    for weight in checkpoint.weights.values():
        weight += 1
    checkpoint.save(path)
    with pytest.raises(TransformerError, match=r"npz: blocks\.0\.down has weights"):
        read_gpt(path)


@pytest.mark.parametrize("window", [None, 4])
def test_the_loss_is_that_of_the_tokens_of_mappings(window: int | None) -> None:
    model, losses = Gpt(TINY), []
    for row, chosen in zip(TINY_ROWS.tokens, TINY_ROWS.chosen, strict=True):
        logits = model(torch.from_numpy(row[None, :-1].astype(np.int64)), window)[0]
        chances = logits.softmax(dim=1).detach().numpy()
        losses += [
            -np.log(chances[place - 1, row[place]]) for place in range(1, 25) if chosen[place]
        ]
    assert mean_loss(model, TINY_ROWS, window) == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.parametrize("name", [pytest.param("dense", marks=pytest.mark.slow), "mst"])
def test_a_tiny_corpus_is_learnt_by_heart(name: str) -> None:
    arm = replace(WAYS[name], steps=200, batch=6, interval=20)
    training, again = (Training(arm, TINY_ROWS, seed=0, rate=0.02) for _ in range(2))
    losses = [progress.loss for progress in training.steps()]
    assert [progress.loss for progress in islice(again.steps(), 30)] == losses[:30]
    assert mean_loss(training.model, TINY_ROWS) < 0.1 < 2 < losses[0]


def test_proposals_are_what_was_learnt_and_different_ones() -> None:
    edge, objective, shape = PRESETS["edge"], find_objective("edp"), GptShape(1, 32, 2, 64)
    names = ("mobilenetv2_l2", "bert_base_l1", "resnet18_l3", "vgg16_l14")
    problems = [Problem(MapSpace(find_layer(name), edge)) for name in names]
    points = [Masks(each).sample(1, np.random.default_rng(0))[0] for each in problems]
    tokens, chosen = np.zeros((4, 65), dtype=np.int16), np.zeros((4, 65), dtype=bool)
    for row, (problem, point) in enumerate(zip(problems, points, strict=True)):
        asked = [*of_machine(edge, objective), *of_layer(problem.layer)]
        sentence = encode(problem.space, point)
        points[row] = decode(problem.space, sentence)
        tokens[row, : len(asked) + len(sentence)] = [*asked, *sentence]
        chosen[row, len(asked) : len(asked) + len(sentence)] = True
    training = Training(
        Arm(shape, 120, 4, interval=60), TokenRows(tokens, chosen), seed=0, rate=0.02
    )
    assert list(training.steps())[-1].loss < 0.2
    for problem, point in zip(problems, points, strict=True):
        found = propose(training.model, problem, objective, 10, np.random.default_rng(0))
        np.testing.assert_array_equal(found[0], point)
        drawn = propose(Gpt(shape), problem, objective, 10, np.random.default_rng(0))
        assert 0 < len(drawn) <= 10
        for each in (found, drawn):
            assert Masks(problem).allow(each).all()
            assert len(np.unique(problem.space.identities(each))) == len(each)
    anywhere = Problem(MapSpace(find_layer("resnet18_l3"), PRESETS["unlimited"]))
    drawn = propose(Gpt(shape), anywhere, objective, 10, np.random.default_rng(0))
    assert drawn.shape == (10, len(anywhere.space.sizes))
