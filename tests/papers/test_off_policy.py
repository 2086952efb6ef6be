"""MADDPG and MASAC: against plain ones, and on a task whose answer is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra rl")

from plain_off_policy import Plain, PlainMaddpg, PlainMasac, modules  # noqa: E402

from maestro_env.mappers.papers import stacked_networks  # noqa: E402
from maestro_env.mappers.papers.maddpg import Maddpg  # noqa: E402
from maestro_env.mappers.papers.masac import Masac  # noqa: E402
from maestro_env.mappers.papers.off_policy import (  # noqa: E402
    LearnerError,
    OffPolicyLearner,
    Settings,
    collect,
)
from maestro_env.mappers.papers.replay.layouts import Batch  # noqa: E402
from maestro_env.mappers.papers.stacked_networks import (  # noqa: E402
    Heads,
    Networks,
)
from maestro_env.mappers.papers.tasks.physics import PredatorPrey  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

BOTH = {"maddpg": (Maddpg, PlainMaddpg), "masac": (Masac, PlainMasac)}
every_learner = pytest.mark.parametrize(
    "learner_class", [each for each, _ in BOTH.values()], ids=BOTH
)
# Agents of unequal sizes.
OBSERVATIONS, HEADS = (3, 5, 2), ((4,), (2, 3), (5,))
CHOICES = tuple(map(sum, HEADS))
COUNTS = [count for counts in HEADS for count in counts]
SIZE = 16


def drawn(rng: np.random.Generator, size: int = SIZE) -> Batch:
    """A batch of noise; about a tenth of its rows end an episode."""
    hot = [
        np.hstack(
            [np.eye(count, dtype=np.float32)[rng.integers(count, size=size)] for count in own]
        )
        for own in HEADS
    ]
    seen, following = (
        [rng.normal(size=(size, width)).astype(np.float32) for width in OBSERVATIONS]
        for _ in range(2)
    )
    rewards = rng.normal(size=(size, 3)).astype(np.float32)
    return Batch(seen, hot, rewards, following, (rng.random((size, 3)) < 0.1).astype(np.float32))


def made(learner_class: type[OffPolicyLearner], seed: int = 0) -> OffPolicyLearner:
    return learner_class(OBSERVATIONS, HEADS, np.random.default_rng(seed))


def sets_of(learner: OffPolicyLearner) -> list[Networks]:
    """All networks of a learner, targets included."""
    slow = [learner.target_actors] if isinstance(learner, Maddpg) else []
    return [learner.actors, *slow, *learner.critics, *learner.target_critics]


def weights(learner: OffPolicyLearner) -> list[np.ndarray]:
    return [each.detach().numpy().copy() for nets in sets_of(learner) for each in nets.parameters]


def plain_of(learner: OffPolicyLearner, plain_class: type[Plain]) -> Plain:
    """The same agents, which draw the same noise."""
    stream = torch.Generator()
    stream.set_state(learner._noise.get_state())

    def noise(rows: int) -> list[torch.Tensor]:
        shape = len(HEADS), rows, max(map(len, HEADS)), max(COUNTS)
        gumbel = (
            -torch.empty(shape, dtype=stacked_networks.DTYPE).exponential_(generator=stream).log()
        )
        return [
            torch.cat([gumbel[agent, :, head, :count] for head, count in enumerate(counts)], dim=1)
            for agent, counts in enumerate(HEADS)
        ]

    return plain_class(learner, OBSERVATIONS, HEADS, noise)


@pytest.fixture
def doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adam makes a step of rounding errors where a gradient is hardly more than they are."""
    monkeypatch.setattr(stacked_networks, "DTYPE", torch.float64)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", BOTH)
def test_stacked_networks_learn_what_plain_ones_learn(name: str, shared: bool) -> None:
    learner_class, plain_class = BOTH[name]
    learner, rng = made(learner_class), np.random.default_rng(1)
    plain = plain_of(learner, plain_class)
    if shared and name == "masac":
        # With one batch, each agent's next actions are drawn once, not once for each reader.
        noise = plain.noise
        plain.noise = lambda rows: (
            [each.repeat(3, 1) for each in noise(SIZE)] if rows == 3 * SIZE else noise(rows)
        )
    before = weights(learner)
    for _ in range(3):
        batches = [drawn(rng)] * 3 if shared else [drawn(rng) for _ in range(3)]
        learner.update(batches[:1] if shared else batches)
        plain.update(batches)
    assert all((old != new).any() for old, new in zip(before, weights(learner), strict=True))
    joint, one = [sum(OBSERVATIONS) + sum(CHOICES)] * 3, [1] * 3
    kept = [(learner.actors, plain.actors, OBSERVATIONS, CHOICES)]
    if isinstance(learner, Maddpg):
        kept.append((learner.target_actors, plain.target_actors, OBSERVATIONS, CHOICES))
    for ours, theirs in (
        *zip(learner.critics, plain.critics, strict=True),
        *zip(learner.target_critics, plain.target_critics, strict=True),
    ):
        kept.append((ours, theirs, joint, one))
    for stacked, nets, inputs, outputs in kept:
        for ours, theirs in zip(modules(stacked, inputs, outputs), nets, strict=True):
            for weight, truth in zip(ours.parameters(), theirs.parameters(), strict=True):
                torch.testing.assert_close(weight, truth, rtol=1e-9, atol=1e-9)


@every_learner
def test_gradients_are_those_of_plain_networks(learner_class: type[OffPolicyLearner]) -> None:
    learner, rng = made(learner_class), np.random.default_rng(1)
    plain = plain_of(learner, dict(BOTH.values())[learner_class])
    batches = [drawn(rng) for _ in range(3)]
    learner.update(batches)
    plain.update(batches)
    for stacked, nets in [
        (learner.actors, plain.actors),
        *zip(learner.critics, plain.critics, strict=True),
    ]:
        for agent, net in enumerate(nets):
            own = zip(stacked.parameters, net.parameters(), strict=True)
            for parameter, truth in own:
                expected = truth.grad.reshape(len(truth), -1).T
                rows, columns = expected.shape
                shown = parameter.grad[agent, :rows, :columns]
                torch.testing.assert_close(shown, expected, rtol=1e-5, atol=1e-5)


@every_learner
def test_padding_stays_zero(learner_class: type[OffPolicyLearner]) -> None:
    learner, rng = made(learner_class), np.random.default_rng(1)
    for _ in range(3):
        learner.update([drawn(rng) for _ in range(3)])
    first, *_, last, last_bias = learner.actors.parameters
    for agent, (inputs, outputs) in enumerate(zip(OBSERVATIONS, CHOICES, strict=True)):
        assert not first[agent, inputs:].any()
        assert not last[agent, :, outputs:].any()
        assert not last_bias[agent, :, outputs:].any()


@every_learner
def test_seeds_decide_everything_and_global_streams_are_left(
    learner_class: type[OffPolicyLearner],
) -> None:
    streams = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    found = []
    for seed in (0, 0, 1):
        learner, rng = made(learner_class, seed), np.random.default_rng(seed)
        learner.update([drawn(rng)])
        found.append((learner.act(drawn(rng, 200).observations), weights(learner)))
    assert np.array_equal(found[0][0], found[1][0])
    assert all(np.array_equal(*pair) for pair in zip(found[0][1], found[1][1], strict=True))
    assert not np.array_equal(found[0][1][0], found[2][1][0])
    assert torch.equal(torch.get_rng_state(), streams[0])
    assert np.array_equal(np.random.get_state()[1], streams[1])  # noqa: NPY002


@every_learner
def test_actions_are_drawn_from_the_softmax_of_the_logits(
    learner_class: type[OffPolicyLearner],
) -> None:
    learner = made(learner_class)
    seen = [row.repeat(20_000, axis=0) for row in drawn(np.random.default_rng(1), 1).observations]
    actions, greedy = learner.act(seen), learner.act(seen, greedy=True)
    assert actions.shape == greedy.shape == (20_000, len(COUNTS))
    actors, columns = modules(learner.actors, OBSERVATIONS, CHOICES), iter(range(len(COUNTS)))
    for agent, (actor, counts) in enumerate(zip(actors, HEADS, strict=True)):
        for logits in actor(torch.as_tensor(seen[agent][:1]))[0].split(counts):
            column, chances = next(columns), torch.softmax(logits, dim=0)
            shares = np.bincount(actions[:, column], minlength=len(logits)) / 20_000
            np.testing.assert_allclose(shares, chances.detach().numpy(), atol=0.02)
            assert set(greedy[:, column]) == {int(chances.argmax())}


def test_collect_yields_steps_that_follow_each_other() -> None:
    task = PredatorPrey(copies=2)
    learner = Maddpg(task.widths, task.heads, np.random.default_rng(0))
    steps = list(islice(collect(task, learner, np.random.default_rng(0)), 30))
    joined = [
        all(np.array_equal(*pair) for pair in zip(a.next_observations, b.observations, strict=True))
        for a, b in pairwise(steps)
    ]
    # Only the first episode ends, after 25 steps.
    assert joined == [True] * 24 + [False] + [True] * 4
    assert {each.sum() for step in steps for each in step.actions} == {2}
    assert not any(step.dones.any() for step in steps)
    learner.update([steps[0]])


def test_a_wrong_number_of_batches_is_refused() -> None:
    with pytest.raises(LearnerError, match="2 batches; allowed: 1 or one for each agent"):
        made(Maddpg).update([drawn(np.random.default_rng(0))] * 2)


def shown(rng: np.random.Generator, size: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Numbers that agents see, one for each head, as one-hots; and the numbers, int64[size, D]."""
    numbers = np.stack([rng.integers(count, size=size) for count in COUNTS], axis=1)
    return made(Maddpg).encoded(numbers), numbers


def batches_of(learner: OffPolicyLearner, rng: np.random.Generator, size: int) -> Iterator[Batch]:
    """Batches of past samples; each agent is paid for the share of its numbers that it names."""
    steps: list[Batch] = []
    while True:
        seen, numbers = shown(rng, size)
        actions = learner.act(seen)
        first, second, third, fourth = (actions == numbers).T.astype(np.float32)
        rewards = np.stack([first, (second + third) / 2, fourth], axis=1)
        taken = learner.encoded(actions)
        steps.append(Batch(seen, taken, rewards, seen, np.ones_like(rewards)))
        yield steps[rng.integers(len(steps))]


@pytest.mark.slow
@every_learner
def test_agents_learn_to_name_the_numbers_that_they_see(
    learner_class: type[OffPolicyLearner],
) -> None:
    rng = np.random.default_rng(0)
    # With a rate of 0.01 and few rows, policies settle too early.
    learner = learner_class(CHOICES, HEADS, rng, Settings(rate=0.003))
    for batch in islice(batches_of(learner, rng, 32), 450):
        learner.update([batch])
    seen, numbers = shown(rng, 1000)
    assert (learner.act(seen, greedy=True) == numbers).mean() > 0.9
    assert (learner.act(seen) == numbers).mean() > 0.9


def features(rng: np.random.Generator) -> list[np.ndarray]:
    """Three numbers or fewer of each choice."""
    return [rng.normal(size=(count, min(count, 3))) for count in COUNTS]


@pytest.mark.usefixtures("doubles")
@every_learner
def test_one_hots_as_features_change_nothing(learner_class: type[OffPolicyLearner]) -> None:
    found = []
    for tables in (None, [np.eye(count) for count in COUNTS]):
        rng = np.random.default_rng(1)
        learner = learner_class(OBSERVATIONS, HEADS, np.random.default_rng(0), features=tables)
        for _ in range(3):
            learner.update([drawn(rng) for _ in range(3)])
        found.append(weights(learner))
    for ours, truth in zip(*found, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("doubles")
def test_gradients_pass_through_features() -> None:
    """A critic that is a sum of the features it sees has a gradient in closed form."""
    rng = np.random.default_rng(1)
    tables = features(rng)
    widths = [table.shape[1] for table in tables]
    heads = Heads(HEADS, tables)
    value = rng.normal(size=heads.width)
    choices = np.stack([rng.integers(count, size=SIZE) for count in COUNTS], axis=1)
    seen = np.concatenate(heads.encoded(choices), axis=1)
    expected = [table[column] for table, column in zip(tables, choices.T, strict=True)]
    np.testing.assert_allclose(seen, np.concatenate(expected, axis=1), rtol=1e-6)
    # Each agent takes its first choices instead; the others' stay.
    actions = torch.zeros(3, SIZE, *heads.present.shape[2:], dtype=torch.float64)
    actions[:, :, :, 0] = 1
    actions = (actions * heads.present).requires_grad_()
    joint = torch.as_tensor(np.hstack([np.ones((SIZE, 4)), seen]))[None]
    changed = heads.replaced(joint, actions)
    (gradient,) = torch.autograd.grad((changed[:, :, 4:] @ torch.as_tensor(value)).sum(), actions)
    agents, places = [0, 1, 1, 2], [0, 0, 1, 0]
    parts = np.split(value, np.cumsum(widths)[:-1])
    starts = np.cumsum([0, *widths])
    for head, (agent, place) in enumerate(zip(agents, places, strict=True)):
        truth = tables[head] @ parts[head]
        shown = gradient[agent, :, place, : len(truth)].numpy()
        np.testing.assert_allclose(shown, np.tile(truth, (SIZE, 1)), rtol=1e-9)
        for reader in range(3):
            own = np.tile(tables[head][0], (SIZE, 1)) if reader == agent else expected[head]
            columns = slice(4 + starts[head], 4 + starts[head + 1])
            there = changed[reader, :, columns].detach().numpy()
            np.testing.assert_allclose(there, own, rtol=1e-6)


@every_learner
def test_values_are_the_mean_of_what_the_critics_of_agents_say(
    learner_class: type[OffPolicyLearner],
) -> None:
    learner, rng = made(learner_class), np.random.default_rng(1)
    batch = drawn(rng)
    choices = np.stack([rng.integers(count, size=SIZE) for count in COUNTS], axis=1)
    hot = [np.eye(count)[column] for count, column in zip(COUNTS, choices.T, strict=True)]
    joint = torch.as_tensor(np.hstack([*batch.observations, *hot]), dtype=torch.float32)
    width = sum(OBSERVATIONS) + sum(CHOICES)
    critics = [modules(critic, [width] * 3, [1] * 3) for critic in learner.critics]
    said = [
        torch.stack([critic[agent](joint)[:, 0] for critic in critics]).amin(dim=0)
        for agent in range(3)
    ]
    shown = learner.values(batch.observations, choices)
    np.testing.assert_allclose(shown, torch.stack(said).mean(dim=0).detach(), rtol=1e-4, atol=1e-5)
