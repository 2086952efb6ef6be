"""Layouts of a replay against a plain queue of steps, and against each other, bit for bit."""

from __future__ import annotations

import os
import pickle
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from maestro_env.base.errors import UnknownNameError
from maestro_env.mappers.papers.replay.layouts import (
    DTYPES,
    LAYOUTS,
    Batch,
    Fields,
    Replay,
    ReplayError,
    make_replay,
)

FIELDS = Fields((3, 5), (2, 1))
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


class Case(NamedTuple):
    """Steps of changing numbers of copies, of which episodes end, into one ring."""

    fields: Fields
    capacity: int
    dtype: str
    steps: list[Batch]


def steps_of(
    fields: Fields, copies: Sequence[int], ends: float, rng: np.random.Generator
) -> Iterator[Batch]:
    """Steps that go on from each other but where an episode ends, with or without a mark."""

    def drawn(number: int, widths: Sequence[int]) -> list[NDArray[np.float32]]:
        # Zeros of both signs are equal as numbers, and not as bits.
        values = (rng.integers(-2, 3, (number, width)) * rng.choice([0.0, 1.5]) for width in widths)
        return [each.astype(np.float32) for each in values]

    agents, seen = fields.agents, drawn(copies[0], fields.observations)
    for number in copies:
        if number != len(seen[0]):
            seen = drawn(number, fields.observations)
        following = drawn(number, fields.observations)
        rewards, dones = drawn(number, [agents, agents])
        yield Batch(seen, drawn(number, fields.actions), rewards, following, dones)
        ended = rng.random(number) < ends
        anew = drawn(number, fields.observations)
        pairs = zip(following, anew, strict=True)
        seen = [np.where(ended[:, np.newaxis], b, a) for a, b in pairs]


@st.composite
def cases(draw: Any) -> Case:
    sizes = st.integers(1, 4)
    widths = draw(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=3))
    fields = Fields(*(tuple(each) for each in zip(*widths, strict=True)))
    capacity = draw(st.integers(1, 12))
    number = st.integers(1, capacity)
    copies = draw(
        st.one_of(st.lists(number, min_size=1, max_size=15), number.map(lambda n: [n] * 9))
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps = list(steps_of(fields, copies, draw(st.sampled_from([0.0, 0.3, 1.0])), rng))
    return Case(fields, capacity, draw(st.sampled_from(list(DTYPES))), steps)


def arrays(batch: Batch) -> list[NDArray[np.float32]]:
    return [
        *batch.observations,
        *batch.actions,
        batch.rewards,
        *batch.next_observations,
        batch.dones,
    ]


def assert_same(batch: Batch, other: Batch) -> None:
    for one, two in zip(arrays(batch), arrays(other), strict=True):
        assert one.dtype == two.dtype == np.float32
        assert one.shape == two.shape
        assert one.tobytes() == two.tobytes()


def filled(layout: str, steps: int, capacity: int, fields: Fields = FIELDS) -> Replay:
    """A replay after single steps whose first reward is their number."""
    replay = make_replay(layout, fields, capacity)
    for number in range(steps):
        values = [np.full((1, width), number) for width in fields.observations]
        rewards = np.full((1, fields.agents), number)
        acted = [np.zeros((1, width)) for width in fields.actions]
        replay.add(values, acted, rewards, [each + 1 for each in values], rewards < 0)
    return replay


@given(cases())
def test_every_layout_is_a_queue_of_the_last_steps(case: Case) -> None:
    replays = [make_replay(name, case.fields, case.capacity, case.dtype) for name in LAYOUTS]
    queue: deque[tuple[int, list[bytes]]] = deque(maxlen=case.capacity)
    places = count()
    for step in case.steps:
        for replay in replays:
            replay.add(*step)
        stored = [each.astype(case.dtype).astype(np.float32) for each in arrays(step)]
        for copy in range(len(step.rewards)):
            queue.append((next(places) % case.capacity, [each[copy].tobytes() for each in stored]))
        rows = np.array([row for row, _ in queue])
        for replay in replays:
            batch = replay.gather(rows)
            assert (len(replay), replay.head) == (len(queue), (rows[-1] + 1) % case.capacity)
            for place, (_, wanted) in enumerate(queue):
                assert [each[place].tobytes() for each in arrays(batch)] == wanted


@given(cases(), st.integers(0, 2**32))
def test_equal_rows_give_equal_batches(case: Case, seed: int) -> None:
    replays = [make_replay(name, case.fields, case.capacity, case.dtype) for name in LAYOUTS]
    for replay in replays:
        for step in case.steps:
            replay.add(*step)
    rows = np.random.default_rng(seed).integers(len(replays[0]), size=20)
    first, *others = (replay.gather(rows) for replay in replays)
    for other in others:
        assert_same(first, other)


@every_layout
def test_the_oldest_are_overwritten_first(layout: str) -> None:
    """Other than in starry-sky6688/MADDPG, whose full ring overwrites at random."""
    replay = filled(layout, 13, 5)
    assert (len(replay), replay.head) == (5, 3)
    batch = replay.gather(np.arange(5))
    assert batch.rewards[:, 0].tolist() == [10, 11, 12, 8, 9]
    assert batch.next_observations[1][:, 4].tolist() == [11, 12, 13, 9, 10]


def test_a_joint_sample_reads_each_agent_once_and_the_same_rows() -> None:
    """Other than in openai/maddpg, where an agent reads its own again, N + 1 readings for N."""

    class Counted(list[Any]):
        def __getitem__(self, place: Any) -> Any:
            read.append(place)
            return super().__getitem__(place)

    replay: Any = filled("list", 6, 6)
    replay._memories, read = [Counted(each) for each in replay._memories], list[int]()
    batch = replay.gather(np.array([4, 1, 1]))
    assert read == [4, 1, 1] * FIELDS.agents
    assert [each[:, 0].tolist() for each in batch.observations] == [[4, 1, 1]] * FIELDS.agents


@every_layout
def test_a_batch_is_a_copy(layout: str) -> None:
    replay = filled(layout, 4, 4)
    before = replay.gather(np.arange(4))
    for each in arrays(before):
        each[:] = 99
    assert replay.gather(np.arange(4)).rewards[:, 0].tolist() == [0, 1, 2, 3]


def of_large_batches(layout: str = "joint", dtype: str = "float32") -> Replay:
    """A replay of 40 rows, whose batches of 600 rows and more take a megabyte and more."""
    replay = make_replay(layout, Fields((700,), (300,)), 40, dtype)
    replay.add(*next(steps_of(replay.fields, [40], 0.0, np.random.default_rng(3))))
    return replay


@pytest.mark.parametrize("dtype", DTYPES)
@every_layout
def test_large_batches_stay_while_a_part_of_them_is_held(layout: str, dtype: str) -> None:
    replay, rng = of_large_batches(layout, dtype), np.random.default_rng(4)
    draws = [rng.integers(40, size=size) for size in (1000, 1000, 1200, 1000, 1000)]
    parts = [replay.gather(rows).actions[0][:, 7:9] for rows in draws]
    acted = replay.gather(np.arange(40)).actions[0]
    for rows, part in zip(draws, parts, strict=True):
        assert part.tobytes() == acted[rows, 7:9].tobytes()


def test_memory_of_large_batches_is_used_again() -> None:
    replay = of_large_batches()

    def place(rows: int) -> int:
        return replay.gather(np.zeros(rows, np.int64)).observations[0].ctypes.data

    assert len({place(1000) for _ in range(9)}) == 1
    held = replay.gather(np.zeros(1000, np.int64))
    assert len({place(1000) for _ in range(9)} - {held.observations[0].ctypes.data}) == 1


def test_threads_that_gather_at_once_get_different_memory() -> None:
    replay = of_large_batches()
    wanted = [replay.gather(np.full(600, row)).actions[0].tobytes() for row in range(8)]

    def holds(row: int) -> bool:
        batches = [replay.gather(np.full(600, row)) for _ in range(3)]
        return all(each.actions[0].tobytes() == wanted[row] for each in batches)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(holds, list(range(8)) * 30))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_copies_of_a_replay_and_forked_processes_have_memory_of_their_own() -> None:
    replay = of_large_batches()
    rows = np.arange(1000) % 40
    held = replay.gather(rows).observations[0]
    before = held.tobytes()
    other = pickle.loads(pickle.dumps(replay))
    assert_same(other.gather(rows), replay.gather(rows))
    if not (child := os.fork()):
        held[:] = 99
        os._exit(0)
    os.waitpid(child, 0)
    assert held.tobytes() == before


def test_next_observations_of_one_episode_are_not_kept_twice() -> None:
    replay: Any = filled("joint2", 1000, 400)
    assert len(replay._kept) - len(replay._free) == 1
    assert len(replay._kept) <= 2
    ratio = replay.nbytes / filled("joint", 1, 400).nbytes
    # 8 of 23 numbers are left out; where the next one is takes 8 bytes.
    assert ratio == pytest.approx((15 * 4 + 8) / (23 * 4), rel=0.01)


@pytest.mark.parametrize("layout", ["soa", "joint"])
def test_half_the_bytes_hold_it_in_float16(layout: str) -> None:
    half, whole = (make_replay(layout, FIELDS, 100, dtype) for dtype in ("float16", "float32"))
    assert (half.nbytes, whole.nbytes) == (100 * 23 * 2, 100 * 23 * 4)


@every_layout
def test_every_float16_comes_back_exactly(layout: str) -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)][:, np.newaxis]
    replay = make_replay(layout, Fields((1,), (1,)), len(halves), "float16")
    replay.add([halves], [halves], halves, [halves[::-1]], halves)
    batch = replay.gather(np.arange(len(halves)))
    assert batch.rewards.tobytes() == halves.astype(np.float32).tobytes()
    assert batch.next_observations[0].tobytes() == halves[::-1].astype(np.float32).tobytes()


@every_layout
def test_rows_that_are_not_filled_are_refused(layout: str) -> None:
    replay = filled(layout, 3, 5)
    for row in (3, -1, 5):
        with pytest.raises(ReplayError, match=f"{row}.*0 to 2"):
            replay.gather(np.array([0, row]))
    assert replay.gather(np.array([], np.int64)).rewards.shape == (0, 2)


@every_layout
def test_steps_that_do_not_fit_are_refused(layout: str) -> None:
    replay = filled(layout, 3, 3)
    ones = [np.ones((1, width)) for width in (3, 5)]
    acted, rewards = [np.ones((1, 2)), np.ones((1, 1))], np.ones((1, 2))
    with pytest.raises(ReplayError, match=r"\(1, 5\)"):
        replay.add(ones[::-1], acted, rewards, ones, rewards)
    with pytest.raises(ReplayError, match=r"\(1, 2\)"):
        replay.add(ones, acted, np.ones((1, 1)), ones, rewards)
    four = [np.repeat(each, 4, axis=0) for each in (*ones, *acted, rewards)]
    with pytest.raises(ReplayError, match="4 copies: allowed are 1 to 3"):
        replay.add(four[:2], four[2:4], four[4], four[:2], four[4])
    small = make_replay(layout, FIELDS, 3, "float16")
    for wrong in (70_000, np.nan):
        with pytest.raises(ReplayError, match="65504"):
            small.add(ones, acted, wrong * rewards, ones, rewards)
    assert (replay.added, len(small)) == (3, 0)


def test_replays_that_cannot_be_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="allowed: joint, joint2, list, soa"):
        make_replay("rows", FIELDS, 1)
    with pytest.raises(UnknownNameError, match="allowed: float16, float32"):
        make_replay("joint", FIELDS, 1, "int8")
    with pytest.raises(ReplayError, match="0 rows: allowed are 1 or more"):
        make_replay("joint", FIELDS, 0)
    for wrong in (((), ()), ((1,), (1, 2)), ((0,), (1,))):
        with pytest.raises(ReplayError, match=r"1 number|one agent"):
            Fields(*wrong)
