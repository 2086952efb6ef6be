"""Spaces and ways to share them out that the tests of agents have in common."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.mappers.agents.team import Agents, Heads, MarlConfig
from maestro_env.mappers.parts.arrays import Integers
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

SMALL = Heads(MapSpace(Layer("GEMM", {"M": 8, "N": 8, "K": 8}), Hardware(num_pes=8)))
LARGE = Heads(MapSpace(find_layer("resnet18_l2"), find_hardware("paper")))

# A clip that many ratios reach. Where a gradient is 0 but for rounding, 1e-17, Adam turns it into a
# step of rate * 1e-17 / 1e-8: no two ways to add numbers up agree better than that.
LEARNING = MarlConfig(epochs=3, rate=0.005, clip=0.02, entropy=0.03, imitation=0.4)


def shared_out(heads: Heads, agents: int) -> Integers:
    """Give heads to agents in turn, int64[D]."""
    return np.arange(len(heads.counts)) % agents


def actions_of(heads: Heads, n: int, rng: np.random.Generator) -> Integers:
    """Draw uniform actions, int64[n, D]."""
    return rng.integers(0, heads.counts, size=(n, len(heads.counts)))


def owned_by(agents: Integers, agent: int) -> list[int]:
    """Return the heads of an agent."""
    return np.flatnonzero(agents == agent).tolist()


@st.composite
def teams(draw: st.DrawFn, heads: Heads) -> tuple[Integers, int]:
    """Draw which of at least two agents owns each head, and the agent that will be different."""
    count = draw(st.integers(2, 5))
    rest = draw(st.lists(st.integers(0, count - 1), min_size=6, max_size=6))
    agents = np.array([*range(count), *rest])[np.arange(len(heads.counts)) % (count + 6)]
    return agents, draw(st.integers(0, count - 1))


CHANGES = ("weights", "actions", "uniforms", "elites")
"""What of an agent may differ from one team to another."""


def learn_apart(teams: tuple[Agents, Agents], owned: list[int], change: str, seed: int) -> None:
    """Let two teams learn alike but for what one agent of the second does and remembers.

    Args:
        teams: of ``SMALL``.
        owned: heads of the agent that is different.
        change: a name of ``CHANGES``; weights differ already.
        seed: of everything drawn.
    """
    d = len(SMALL.counts)
    for team, differs in zip(teams, (False, True), strict=True):
        rng, other = np.random.default_rng(seed), np.random.default_rng(seed + 1)
        for _ in range(3):
            uniform, seen = rng.random((8, d)), rng.random((8, 4)).astype(np.float32)
            rewards, best = rng.normal(size=8), actions_of(SMALL, 3, rng)
            if differs and change == "uniforms":
                uniform[:, owned] = other.random((8, len(owned)))
            actions = team.draw(uniform, seen)
            if differs and change == "actions":
                actions[:, owned] = actions_of(SMALL, 8, other)[:, owned]
            if differs and change == "elites":
                best[:, owned] = actions_of(SMALL, 3, other)[:, owned]
            team.learn(actions, rewards, best)
