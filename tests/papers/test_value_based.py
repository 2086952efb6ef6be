"""IQL, VDN and QMIX, dense and sparse: against plain ones, and on games with known answers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from gate import few
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the extra rl")

from plain_value_based import Plain, modules  # noqa: E402

from maestro_env.base.errors import UnknownNameError  # noqa: E402
from maestro_env.mappers.papers import stacked_networks  # noqa: E402
from maestro_env.mappers.papers.replay.layouts import Batch, ReplayError  # noqa: E402
from maestro_env.mappers.papers.tasks import Task  # noqa: E402
from maestro_env.mappers.papers.value_based.episodes import Episodes, play  # noqa: E402
from maestro_env.mappers.papers.value_based.learner import (  # noqa: E402
    ValueLearner,
    lambda_returns,
    soft_mellowmax,
)
from maestro_env.mappers.papers.value_based.qmix import (  # noqa: E402
    Iql,
    Qmix,
    Vdn,
)
from maestro_env.mappers.papers.value_based.settings import Settings  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

LEARNERS = {"iql": Iql, "vdn": Vdn, "qmix": Qmix}
every_learner = pytest.mark.parametrize("kind", LEARNERS)
# Agents of unequal sizes.
OBSERVATIONS, HEADS = (3, 5, 2), ((4,), (2, 3), (5,))
COUNTS = [count for counts in HEADS for count in counts]
LENGTH, SIZE = 4, 6
SETTINGS = Settings(1000, hidden=(8, 7), embedding=4, density=0.4, one_step=0, copy=100, omega=5)

values_of = st.lists(st.floats(-50, 50), min_size=1, max_size=6)


def made(kind: str, settings: Settings = SETTINGS, seed: int = 0) -> ValueLearner:
    return LEARNERS[kind](OBSERVATIONS, HEADS, np.random.default_rng(seed), settings)


def drawn(rng: np.random.Generator) -> Batch:
    """Episodes of noise, step after step; some end early and stay so."""
    rows = LENGTH * SIZE
    seen, following = (
        [rng.normal(size=(rows, width)).astype("f") for width in OBSERVATIONS] for _ in range(2)
    )
    taken = [
        np.stack([rng.integers(count, size=rows) for count in own], axis=1).astype("f")
        for own in HEADS
    ]
    ended = np.cumsum(rng.random((LENGTH, SIZE)) < 0.2, axis=0).ravel() > 0
    dones = np.repeat(ended[:, np.newaxis], 3, axis=1).astype("f")
    return Batch(seen, taken, rng.normal(size=(rows, 3)).astype("f"), following, dones)


def apart(batch: Batch) -> list[Batch]:
    """The episodes of a batch, each as a batch of its steps."""

    def cut(field: object, episode: int) -> object:
        return (
            [cut(each, episode) for each in field]
            if isinstance(field, list)
            else (field[episode::SIZE])
        )

    return [Batch(*(cut(field, episode) for field in batch)) for episode in range(SIZE)]


@pytest.fixture
def doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked_networks, "DTYPE", torch.float64)


@pytest.mark.usefixtures("doubles")
@every_learner
def test_stacked_sparse_networks_learn_what_plain_ones_learn(kind: str) -> None:
    learner, rng = made(kind), np.random.default_rng(1)
    plain = Plain(learner, OBSERVATIONS, HEADS, kind)
    for _ in range(3):
        batch = drawn(rng)
        learner.update(batch, LENGTH)
        plain.update(apart(batch))
    sizes = [
        [each.in_features for each in net if hasattr(each, "in_features")] for net in plain.nets
    ]
    ends = [net[-1].out_features for net in plain.nets]
    sizes = [[*own, end] for own, end in zip(sizes, ends, strict=True)]
    ours = modules(learner.networks[0], sizes[:3])
    if kind == "qmix":
        ours += modules(learner.networks[1], sizes[3:])
    for own, theirs in zip(ours, plain.nets, strict=True):
        for weight, truth in zip(own.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(weight, truth, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("doubles")
@every_learner
def test_values_of_the_team_are_those_of_plain_networks(kind: str) -> None:
    learner, batch = made(kind), drawn(np.random.default_rng(1))
    plain = Plain(learner, OBSERVATIONS, HEADS, kind)
    truth = [plain.value(batch, row).mean().item() for row in range(LENGTH * SIZE)]
    found = learner.team_values(batch.observations, batch.actions)
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-9)


def of(values: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    found = torch.tensor(values, dtype=torch.float64)
    return found, torch.ones_like(found, dtype=torch.bool)


@given(values_of, st.floats(0, 5), st.floats(0.01, 20))
def test_soft_mellowmax_is_between_its_mean_and_the_maximum(
    values: list[float], alpha: float, omega: float
) -> None:
    found, present = of(values)
    shares = torch.softmax(alpha * found, dim=0)
    shown = float(soft_mellowmax(found, present, alpha, omega))
    assert float((shares * found).sum()) - 1e-9 <= shown <= max(values) + 1e-9
    assert max(values) - shown <= -float(shares[found.argmax()].log()) / omega + 1e-9
    by_definition = (shares * (omega * (found - found.max())).exp()).sum().log() / omega
    assert shown == pytest.approx(float(by_definition) + max(values), abs=1e-9)


@given(values_of)
def test_the_limits_of_soft_mellowmax(values: list[float]) -> None:
    found, present = of(values)
    assert float(soft_mellowmax(found, present, 1, 1e4)) == pytest.approx(max(values), abs=0.02)
    mean = float((torch.softmax(found, dim=0) * found).sum())
    assert float(soft_mellowmax(found, present, 1, 1e-7)) == pytest.approx(mean, abs=1e-3)
    mellow = float(found.logsumexp(dim=0)) - np.log(len(values))
    assert float(soft_mellowmax(found, present, 0, 1)) == pytest.approx(mellow)


@given(values_of, st.floats(0, 5))
def test_missing_choices_have_no_part_in_soft_mellowmax(values: list[float], alpha: float) -> None:
    found, present = of(values)
    more, present_of_more = (
        torch.cat([each, each[:0].new_tensor([0] * 3)]) for each in (found, present)
    )
    shown = soft_mellowmax(more, present_of_more, alpha, 5)
    assert float(shown) == pytest.approx(float(soft_mellowmax(found, present, alpha, 5)), abs=1e-9)


def test_soft_mellowmax_of_large_values_in_single_precision_is_finite() -> None:
    values = torch.tensor([1e4, -1e4, 9.9e3])
    present = torch.ones(3, dtype=torch.bool)
    assert float(soft_mellowmax(values, present, 1, 10)) == pytest.approx(1e4)
    assert torch.isfinite(soft_mellowmax(values, ~present, 1, 10))


def episodes_of_noise() -> tuple[torch.Tensor, ...]:
    rng = np.random.default_rng(0)
    rewards, going = rng.normal(size=(5, 3)), np.ones((5, 3))
    going[3, 1] = going[4, 2] = 0  # The first never ends, the second early, the third at last.
    return tuple(map(torch.from_numpy, (rewards, rng.normal(size=(2, 5, 3)), going)))


def test_a_trace_of_zero_is_the_one_step_target() -> None:
    rewards, following, going = episodes_of_noise()
    shown = lambda_returns(rewards, following, going, 0.9, 0)
    torch.testing.assert_close(shown, rewards + 0.9 * going * following)


def test_a_trace_of_one_is_monte_carlo() -> None:
    rewards, following, going = episodes_of_noise()
    shown = lambda_returns(rewards, following, going, 0.9, 1)
    for episode, end in enumerate((5, 4, 5)):
        for step in range(end):
            total = sum(0.9 ** (k - step) * rewards[k, episode] for k in range(step, end))
            if episode == 0:
                total = total + 0.9 ** (5 - step) * following[:, 4, episode]
            torch.testing.assert_close(shown[:, step, episode], total.expand(2))


def test_qmix_never_falls_when_an_agent_gains() -> None:
    learner = made("qmix", replace(SETTINGS, density=1))
    rng = np.random.default_rng(1)
    utilities = torch.from_numpy(rng.normal(size=(3, 500)).astype("f")).requires_grad_()
    states = torch.from_numpy(rng.normal(size=(500, sum(OBSERVATIONS))).astype("f"))
    mixed = learner.mixed(utilities, states, learner.networks[1:])
    (gradient,) = torch.autograd.grad(mixed.sum(), utilities)
    assert (gradient >= 0).all()
    assert gradient.any()


class Numbered(Task):
    """Agents see the number of the episode, of the copy and of the step; all are paid the step."""

    def __init__(self, copies: int, length: int) -> None:
        super().__init__(copies, ((2,), (3, 2)), length)
        self.widths, self._episode, self._step = (3, 3), -1, 0

    def _begin(self, rng: np.random.Generator) -> None:
        self._episode, self._step = self._episode + 1, 0

    def _act(self, actions: np.ndarray) -> np.ndarray:
        self._step += 1
        return np.full((self.copies, 2), float(self._step))

    def _observe(self) -> list[np.ndarray]:
        seen = np.zeros((self.copies, 3), dtype=np.float32)
        seen[:, 0], seen[:, 1], seen[:, 2] = self._episode, np.arange(self.copies), self._step
        return [seen, seen]


def at_rest(seen: list[np.ndarray]) -> np.ndarray:
    return np.zeros((len(seen[0]), 3), dtype=np.int64)


class Leaving(Exception):
    """The player leaves in the middle of an episode."""


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 12), st.integers(1, 9), st.booleans())
def test_episodes_that_are_drawn_are_whole(
    copies: int, length: int, most: int, played: int, leaves: bool
) -> None:
    task, rng = Numbered(copies, length), np.random.default_rng(0)
    episodes = Episodes(task, most, rng)
    for _ in range(played):
        paid = play(task, at_rest, rng, episodes.replay)
        assert (paid == length * (length + 1) / 2).all()

    def act(seen: list[np.ndarray]) -> np.ndarray:
        if seen[0][0, 2] == length - 1:
            raise Leaving
        return at_rest(seen)

    if leaves:
        with pytest.raises(Leaving):
            play(task, act, rng, episodes.replay)
    overwrites = leaves and length > 1
    blocks = min(played, -(-most // copies) - overwrites)
    expected = range((played - blocks) * copies, played * copies)
    assert list(episodes.numbers) == list(expected)
    if not blocks:
        return
    numbers = np.array(expected)
    seen = episodes.replay.gather(episodes.rows(numbers).ravel()).observations[0]
    steps, of_block, of_copy = (
        np.arange(length).repeat(len(numbers)),
        *(np.tile(each, length) for each in np.divmod(numbers, copies)),
    )
    np.testing.assert_array_equal(seen, np.stack([of_block, of_copy, steps], axis=1))


def test_a_part_of_a_batch_is_of_the_newest_episodes() -> None:
    task, rng = Numbered(2, 3), np.random.default_rng(0)
    episodes = Episodes(task, 40, rng)
    with pytest.raises(ReplayError, match="no episode is there"):
        episodes.draw(4)
    for _ in range(30):
        play(task, at_rest, rng, episodes.replay)
    batch = episodes.draw(2000, recent=800, newest=5)
    blocks, copies, steps = batch.observations[0][:2000].T
    assert not steps.any()
    numbers = (2 * blocks + copies).astype(int)
    # 20 blocks of 2 copies are there; the newest 5 episodes are 55 to 59.
    assert set(numbers[:1200]) == set(range(20, 60))
    assert set(numbers[1200:]) == set(range(55, 60))
    np.testing.assert_array_equal(batch.observations[0][-2000:, 2], 2)
    with pytest.raises(ReplayError, match="5 recent episodes; allowed: 0 to the batch of 4"):
        episodes.draw(4, recent=5)


class Game(Task):
    """A game of one step: both agents see which of two tables pays what they choose together."""

    TABLES = np.array([[[0, 0, 1], [0, 2, 4], [1, 4, 8]], [[8, 6, 0], [6, 2, 0], [0, 0, 0]]])

    def __init__(self, copies: int) -> None:
        super().__init__(copies, ((3,), (3,)), length=1)
        self.widths, self._table = (2, 2), np.zeros(copies, dtype=np.int64)

    def _begin(self, rng: np.random.Generator) -> None:
        self._table = rng.integers(2, size=self.copies)

    def _act(self, actions: np.ndarray) -> np.ndarray:
        self.finished = np.ones(self.copies, dtype=bool)
        return np.repeat(self.TABLES[self._table, *actions.T, np.newaxis], 2, axis=1).astype(float)

    def _observe(self) -> list[np.ndarray]:
        seen = np.eye(2, dtype=np.float32)[self._table]
        return [seen, seen]


def trained(kind: str, settings: Settings, seed: int = 0) -> tuple[ValueLearner, np.ndarray]:
    """A learner after a training with the game, and what it was paid in each episode."""
    rng = np.random.default_rng(seed)
    task = Game(16)
    learner = LEARNERS[kind](task.widths, task.heads, rng, settings)
    episodes, paid = Episodes(task, 512, rng), []
    for _ in range(settings.updates):
        paid.append(play(task, partial(learner.act, epsilon=0.5), rng, episodes.replay))
        learner.update(episodes.draw(32, recent=12), length=1)
    return learner, np.array(paid)


GAME = Settings(150, hidden=(16,), embedding=8, rate=0.02, density=0.6, interval=20, copy=20)


@pytest.mark.parametrize("kind", few(["qmix", "vdn", "iql"]))
def test_a_game_of_two_agents_is_learnt(kind: str) -> None:
    learner, _ = trained(kind, GAME)
    paid = play(Game(64), learner.greedy, np.random.default_rng(2))
    assert (paid == 8).all()
    links = [int(each) for each in learner.topology.links]
    assert sum(links) == round(0.6 * sum(learner.topology.sizes))


@pytest.mark.parametrize("kind", few(LEARNERS))
def test_seeds_decide_everything(kind: str) -> None:
    settings = replace(GAME, updates=25)
    first, same, other = (trained(kind, settings, seed) for seed in (0, 0, 1))
    assert np.array_equal(first[1], same[1])
    assert not np.array_equal(first[1], other[1])
    for one, two in zip(first[0].networks, same[0].networks, strict=True):
        assert all(map(torch.equal, one.parameters, two.parameters))


@pytest.mark.parametrize("kernels", ["dense", "sparse"])
def test_fewer_and_fewer_links_move_by_gradients_of_those_that_do_not_exist(kernels: str) -> None:
    settings = replace(SETTINGS, updates=12, interval=3, growth="gradient", kernels=kernels)
    learner, rng, shares = made("qmix", settings), np.random.default_rng(1), []
    evolve = learner.topology.evolve

    def spy(share, gradients, moments):  # type: ignore[no-untyped-def]
        masks = learner.topology.masks
        dead = [each[mask == 0] for each, mask in zip(gradients, masks, strict=True)]
        assert all(each.any() for each in dead if len(each))
        shares.append(share)
        evolve(share, gradients, moments)

    learner.topology.evolve = spy  # type: ignore[method-assign]
    for _ in range(12):
        learner.update(drawn(rng), LENGTH)
    wanted = [settings.share * (1 + np.cos(np.pi * done / 4)) / 2 for done in (1, 2, 3, 4)]
    assert shares == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("growth", ["none", "random", "gradient"])
def test_links_move_as_settings_say_and_targets_follow_at_copies(growth: str) -> None:
    settings = replace(SETTINGS, interval=3, copy=4, growth=growth)
    learner, rng = made("qmix", settings), np.random.default_rng(1)
    masks = [[each.clone() for each in learner.topology.masks]]
    for update in range(1, 13):
        before = [each.detach().clone() for one in learner.networks for each in one.parameters]
        learner.update(drawn(rng), LENGTH)
        masks.append([each.clone() for each in learner.topology.masks])
        moved = not all(map(torch.equal, *masks[-2:]))
        assert moved == (growth != "none" and update % 3 == 0)
        after = [each for one in learner.networks for each in one.parameters]
        assert not any(
            (each * (1 - mask)).any() for each, mask in zip(after, masks[-1], strict=True)
        )
        if moved:
            # What stays is as it was: the move takes the place of an update.
            stays = [(new == old)[(new != 0)].all() for new, old in zip(after, before, strict=True)]
            assert all(stays)
        targets = [each for one in learner.targets for each in one.parameters]
        assert all(map(torch.equal, targets, after)) == (update % 4 == 0)


def test_a_trace_begins_after_its_share_of_the_training() -> None:
    found = []
    for one_step, trace in ((0.5, 0.8), (1, 0.8), (0, 0)):
        learner = made("vdn", replace(SETTINGS, updates=2, one_step=one_step, trace=trace))
        batch, shown = drawn(np.random.default_rng(1)), []
        for learner.updates in (1, 2):
            shown.append(learner.target_values(learner.stack(batch, LENGTH)))
        found.append(shown)
    mixed, *one_step = found
    assert torch.equal(mixed[0], one_step[0][0])
    assert not torch.equal(mixed[1], one_step[0][1])
    assert torch.equal(one_step[0][1], one_step[1][1])


def test_worths_of_a_next_state() -> None:
    """Soft Mellowmax is less than the maximum, which it nears with a large omega."""
    settings = replace(SETTINGS, trace=0)
    ways = (replace(settings, worth="max"), replace(settings, omega=1e5), settings)
    most, near, less = (
        made("vdn", each).target_values(made("vdn").stack(drawn(np.random.default_rng(1)), LENGTH))
        for each in ways
    )
    torch.testing.assert_close(near, most, rtol=0, atol=1e-4)
    assert (less <= most).all()
    assert (less < most - 0.01).any()
    for name, value in (("worth", "least"), ("growth", "all")):
        with pytest.raises(UnknownNameError, match="allowed: "):
            replace(SETTINGS, **{name: value})


@every_learner
def test_operations_are_recounted_from_the_weights(kind: str) -> None:
    learner = made(kind, replace(SETTINGS, interval=2))
    rng, rows = np.random.default_rng(1), LENGTH * SIZE

    def links() -> tuple[int, int, int, int]:
        """Weights that are there and all there could be, of agents and of the mixer."""
        agents, *mixer = learner.networks
        mixing = (3 + 1) * 4 if mixer else 0
        counts = []
        for nets, more in (([agents], 0), (mixer, mixing)):
            weights = [each for one in nets for each in one.parameters[::2]]
            counts.append(sum(int((each != 0).sum()) for each in weights) + more)
        seen, outputs, state = OBSERVATIONS, (4, 5, 5), sum(OBSERVATIONS)
        all_of_agents = sum(s * 8 + 8 * 7 + 7 * o for s, o in zip(seen, outputs, strict=True))
        all_of_mixer = 4 * state * 4 + 4 * (12 + 4 + 4 + 1) + mixing if mixer else 0
        return counts[0], counts[1], all_of_agents, all_of_mixer

    agents, mixer, *_ = links()
    seen = drawn(rng).observations
    learner.act(seen, 0.1)
    assert learner.meter.total == 2 * agents * rows
    learner.greedy(seen)
    learner.update(drawn(rng), LENGTH)
    first = 2 * rows * ((1 + 1 + 3) * agents + (1 + 3) * mixer)
    assert learner.meter.total == first
    learner.update(drawn(rng), LENGTH)
    *_, all_agents, all_mixer = links()
    moved = 3 * (agents + mixer) + all_agents + all_mixer
    assert learner.meter.total == first + 2 * rows * moved
    spent = learner.meter.spent
    assert spent["target mixer"] == 2 * 2 * rows * mixer
    assert spent["grow agents"] == 2 * rows * (2 * agents + all_agents)


def test_exploring_agents_choose_at_random() -> None:
    learner = made("iql")
    seen = [np.zeros((30_000, width), dtype="f") for width in OBSERVATIONS]
    best, random, some = learner.greedy(seen), learner.act(seen, 1.0), learner.act(seen, 0.3)
    assert np.array_equal(learner.act(seen, 0.0), best)
    for column, count in enumerate(COUNTS):
        shares = np.bincount(random[:, column], minlength=count) / len(random)
        np.testing.assert_allclose(shares, 1 / count, atol=0.02)
        same = (some[:, column] == best[:, column]).mean()
        assert same == pytest.approx(0.7 + 0.3 / count, abs=0.02)
