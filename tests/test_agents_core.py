"""Agents in the core have the bits, and draw the random numbers, of formulas of numpy."""

from __future__ import annotations

from _datetime import datetime_CAPI

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from team_helpers import LARGE, SMALL, actions_of, shared_out

from maestro_env.base.native_learning import redrawn
from maestro_env.mappers.agents.stateless import StatelessAgents
from maestro_env.mappers.agents.team import Heads, MarlConfig, explore, refine
from maestro_env.mappers.parts.arrays import Floats, Integers

UNSEEN = np.zeros((0, 4), np.float32)
SEEDS = st.integers(0, 2**32)
HEADS = pytest.mark.parametrize("heads", [SMALL, LARGE], ids=["small", "large"])


def twins(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.default_rng(seed), np.random.default_rng(seed)


def octaves(shape: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    return np.exp2(rng.uniform(-5, 0, size=shape)) * (2 * rng.integers(0, 2, size=shape) - 1)


@given(SEEDS, st.integers(1, 2**20), st.integers(0, 9))
def test_rows_are_drawn_as_numpy_draws_integers(seed: int, rows: int, n: int) -> None:
    rng, other = twins(seed)
    found = redrawn(np.arange(rows)[:, np.newaxis], n, rng.bit_generator.capsule)
    np.testing.assert_array_equal(found[:, 0], other.integers(rows, size=n))
    assert rng.bit_generator.state == other.bit_generator.state


@HEADS
@given(SEEDS, st.integers(0, 12), st.floats(0, 1), st.floats(0, 1))
def test_explored(heads: Heads, seed: int, n: int, chance: float, local: float) -> None:
    rng, other = twins(seed)
    actions = actions_of(heads, n, np.random.default_rng(seed + 1))
    explored = explore(actions, heads, chance, local, rng)
    replaced = other.random(actions.shape) < chance
    moves = heads.are_sizes & (other.random(actions.shape) < local)
    steps = octaves(actions.shape, other)
    drawn = other.integers(0, heads.counts, size=actions.shape)
    expected = np.where(replaced, drawn, actions)
    for row, head in zip(*np.nonzero(replaced & moves), strict=True):
        expected[row, head] = heads.native.scaled(head, actions[row, head], steps[row, head])
    np.testing.assert_array_equal(explored, expected)
    assert rng.bit_generator.state == other.bit_generator.state


@HEADS
@given(SEEDS, st.integers(1, 5), st.integers(0, 9), st.floats(0, 1))
def test_refined(heads: Heads, seed: int, elites: int, n: int, pairs: float) -> None:
    rng, other = twins(seed)
    best, drawn = (actions_of(heads, count, rng) for count in (elites, n))
    best, drawn = (actions_of(heads, count, other) for count in (elites, n))
    variants = refine(best, drawn, heads, pairs, rng)
    expected = best[other.integers(elites, size=(2, n)).min(axis=0)]
    steps, sizes = octaves(n, other), np.flatnonzero(heads.are_sizes)
    first, apart = other.integers(len(sizes), size=n), other.integers(1, len(sizes), size=n)
    second = sizes[(first + apart) % len(sizes)]
    two = other.random(n) < pairs
    one = np.where(two, sizes[first], other.integers(len(heads.counts), size=n))
    moves = two | (heads.are_sizes[one] & (other.random(n) < 0.7))
    signs = 2 * other.integers(0, 2, size=n) - 1
    for row, variant in enumerate(expected):
        head, last = one[row], second[row]
        moved = heads.native.scaled(head, variant[head], steps[row])
        variant[head] = moved if moves[row] else drawn[row, head]
        if two[row]:
            variant[last] = heads.native.scaled(last, variant[last], steps[row] * signs[row])
    np.testing.assert_array_equal(variants, expected)
    assert rng.bit_generator.state == other.bit_generator.state


def test_variants_need_two_sizes() -> None:
    heads = type(LARGE.native)([3, 4], [False, True], np.log2([1, 2, 3, 1, 2, 3, 4]))
    actions, bits = np.zeros((1, 2), np.int64), np.random.default_rng(0).bit_generator.capsule
    with pytest.raises(ValueError, match="two sizes"):
        heads.refine(actions, actions, 0.5, bits)
    with pytest.raises(ValueError, match="choices of 2 heads"):
        heads.explore(actions + 3, 0.5, 0.5, bits)
    with pytest.raises(ValueError, match="bit generator"):
        heads.explore(actions, 0.5, 0.5, datetime_CAPI)


class Formulas:
    """PPO on logits, as numpy says it."""

    def __init__(self, heads: Heads, agents: Integers, config: MarlConfig) -> None:
        self.heads, self.agents, self.config, self.steps = heads, agents, config, 0
        width = sum(each.shape[1] for each in heads.features)
        self.features = np.zeros((len(heads.bias), width))
        row = column = 0
        for each in heads.features:
            self.features[row : row + len(each), column : column + each.shape[1]] = each
            row, column = row + len(each), column + each.shape[1]
        self.owns = (agents[:, np.newaxis] == np.arange(agents.max() + 1)).astype(np.float64)
        self.weights, self.mean, self.square = np.zeros((3, len(heads.bias) + width))

    def logarithms(self) -> Floats:
        heads, count = self.heads, len(self.heads.bias)
        # Cumulated sums are taken one number after the other.
        shared = (self.features * self.weights[count:]).cumsum(axis=1)[:, -1]
        logits = heads.bias + self.weights[:count] + shared
        logits -= np.maximum.reduceat(logits, heads.starts).repeat(heads.counts)
        sums = np.add.reduceat(np.exp(logits), heads.starts)
        return logits - np.log(sums).repeat(heads.counts)

    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        config, heads = self.config, self.heads
        gain = rewards - rewards.mean()
        gain = (gain / (np.sqrt((gain * gain).mean()) + 1e-8))[:, np.newaxis]
        logits, count = actions + heads.starts, len(heads.bias)
        taken = np.bincount((best + heads.starts).ravel(), minlength=count)
        before = self.logarithms()[logits] @ self.owns
        for _ in range(config.epochs):
            logarithms = self.logarithms()
            ratio = np.exp(np.minimum(logarithms[logits] @ self.owns - before, 20.0))
            free = np.where(gain >= 0, ratio < 1 + config.clip, ratio > 1 - config.clip)
            pull = (gain * ratio * free / len(free))[:, self.agents]
            chances = np.exp(logarithms)
            gradient = np.bincount(logits.ravel(), pull.ravel(), count)
            gradient -= chances * pull.sum(axis=0).repeat(heads.counts)
            surprise = chances * logarithms
            entropy = -np.add.reduceat(surprise, heads.starts).repeat(heads.counts)
            gradient += -config.entropy * (surprise + chances * entropy)
            if len(best):
                gradient += config.imitation * (taken / len(best) - chances)
            shared = (self.features * gradient[:, np.newaxis]).cumsum(axis=0)[-1]
            self.ascend(np.concatenate([gradient, shared]))

    def ascend(self, gradient: Floats) -> None:
        self.steps += 1
        self.mean += (gradient - self.mean) * 0.1
        self.square += (gradient * gradient - self.square) * 0.001
        step = self.mean / (1 - 0.9**self.steps) * self.config.rate
        self.weights += step / (np.sqrt(self.square / (1 - 0.999**self.steps)) + 1e-8)


@pytest.mark.parametrize(("heads", "agents"), [(SMALL, 1), (SMALL, 4), (SMALL, 11), (LARGE, 13)])
@pytest.mark.parametrize("entropy", [0.0, 0.03])
def test_learnt(heads: Heads, agents: int, entropy: float) -> None:
    owners, rng = shared_out(heads, agents), np.random.default_rng(agents)
    config = MarlConfig(entropy=entropy, clip=0.1, imitation=0.5)
    team, formulas = (
        StatelessAgents(heads, owners, config, heads.bias),
        Formulas(heads, owners, config),
    )
    for rows in (1, 11, 40):
        uniform = rng.random((rows, len(owners)))
        actions = team.draw(uniform, UNSEEN)
        for head, chances in enumerate(np.split(np.exp(formulas.logarithms()), heads.starts[1:])):
            sums = chances.cumsum()
            found = sums.searchsorted(uniform[:, head] * sums[-1], side="right")
            np.testing.assert_array_equal(actions[:, head], np.minimum(found, len(sums) - 1))
        rewards, best = rng.random(rows), actions_of(heads, rows % 3, rng)
        team.learn(actions, rewards, best)
        formulas.learn(actions, rewards, best)
        np.testing.assert_array_equal(team.chances(), np.exp(formulas.logarithms()))
