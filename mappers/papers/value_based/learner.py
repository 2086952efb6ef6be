"""What IQL, VDN and QMIX share: utilities of agents, targets, sparse updates, and their count."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.papers.sparse_networks import FlopMeter
from maestro_env.mappers.papers.stacked_networks import (
    NEVER,
    Heads,
    Networks,
    Optimiser,
    padded,
    tensor,
)
from maestro_env.mappers.papers.value_based.settings import KERNELS, Settings
from maestro_env.mappers.parts.arrays import Floats32, Integers
from maestro_env.mappers.parts.sparse_topology import Matrix, Topology, cosine_share
from maestro_env.mappers.parts.threads import one_thread


def soft_mellowmax(values: Tensor, present: Tensor, alpha: float, omega: float) -> Tensor:
    """Return Soft Mellowmax over the last dimension (Gan et al., 2021): a softer maximum.

    It is log(sum of p exp(omega Q)) / omega, where p is the softmax of alpha Q: at least the mean
    that p weighs and at most the maximum, which it becomes with a large omega.

    Args:
        values: Q, [..., C].
        present: which choices there are, bool, broadcast to the values.
        alpha: 0 or more.
        omega: above 0.
    """
    shares = (alpha * values).masked_fill(~present, NEVER).log_softmax(dim=-1)
    powers = (omega * values).masked_fill(~present, NEVER)
    return (shares + powers).logsumexp(dim=-1) / omega


def lambda_returns(
    rewards: Tensor, following: Tensor, going: Tensor, discount: float, trace: float
) -> Tensor:
    """Return TD(lambda) returns of T steps of B episodes, [K, T, B].

    G_t = r_t + discount * ((1 - trace) V_{t+1} + trace G_{t+1}), and r_t where the episode ends. A
    trace of 0 is the one-step target, of 1 the sum of all rewards and of what follows the last.

    Args:
        rewards: r, [T, B].
        following: values V of the next states, [K, T, B].
        going: 0 where an episode ends with that step, 1 elsewhere, [T, B].
        discount: weight of the next step.
        trace: lambda, 0 to 1.
    """
    returns, later = torch.empty_like(following), following[:, -1]
    for step in reversed(range(len(rewards))):
        later = (1 - trace) * following[:, step] + trace * later
        later = rewards[step] + discount * going[step] * later
        returns[:, step] = later
    return returns


class EpisodeRows(NamedTuple):
    """T steps of B episodes as tensors; R = T * B rows, step after step.

    Agents stand side by side and are padded to the longest observation O and most heads H.
    """

    seen: Tensor
    """What each agent saw, [N, R, O]."""
    states: Tensor
    """What all saw, [R, sum of o_i]."""
    actions: Tensor
    """Their choices, int64[N, R, H]; 0 where a head is missing."""
    rewards: Tensor
    """What the team was paid, [T, B]."""
    going: Tensor
    """0 where the episode ended with this step, 1 elsewhere, [T, B]."""
    there: Tensor
    """0 after the end of an episode, 1 elsewhere, [R]."""
    seen_next: Tensor
    """What each agent saw next, [N, R, O]."""
    states_next: Tensor
    """What all saw next, [R, sum of o_i]."""


class ValueLearner(ABC):
    """N agents with a network each, which gives the values of the choices of its heads.

    An agent's utility is the mean of the values of what its heads chose. A mixer makes values of
    the utilities of all agents, which learn together from what the team was paid. The networks of
    all agents, and those of a mixer, have sparse matrices that share a number of links.

    Args:
        observations: numbers o_i that each agent sees.
        heads: number of choices of each head of each agent; D is the number of all heads.
        rng: draws weights and links, and explores.
        settings: how they learn.

    Attributes:
        networks: of the agents, then of the mixer.
        targets: the networks as they were when they were last copied.
        topology: the links of all networks.
        meter: operations so far. Rows after the end of an episode count too.
    """

    def __init__(
        self,
        observations: Sequence[int],
        heads: Sequence[Sequence[int]],
        rng: np.random.Generator,
        settings: Settings,
    ) -> None:
        self.settings, self.agents, self.meter = settings, len(heads), FlopMeter()
        self._observations, self._places = observations, [len(counts) for counts in heads]
        self._choices, self._rng = np.concatenate(heads), rng
        self._heads = Heads(heads)
        have = self._heads.present.any(dim=3)
        # Weights of the heads of each agent in its utility, [N, 1, H].
        self._shares = tensor((have / have.sum(dim=2, keepdim=True)).numpy())
        outputs = [sum(counts) for counts in heads]
        self._made = KERNELS[settings.kernels]
        self.networks = [
            self._made(observations, outputs, rng, settings.hidden),
            *self._mixer_networks(sum(observations), rng),
        ]
        self._of_agents = sum(map(len, self.networks[0].shapes))
        parameters = [each for one in self.networks for each in one.parameters]
        self.topology = Topology(parameters, _matrices(self.networks), settings.density, rng)
        self._optimisers = []
        for one, masks in self._with_masks():
            one.keep(masks)
            few = one.trained is not one.parameters
            steps = Optimiser(one, settings.rate, settings.clip, None if few else masks)
            self._optimisers.append(steps)
        self.updates = 0
        self._copy()

    @abstractmethod
    def mixed(self, utilities: Tensor, states: Tensor, mixer: Sequence[Networks]) -> Tensor:
        """Return the values that learn from the team's rewards, [K, R]; K is N or 1.

        Args:
            utilities: of all agents, [N, R].
            states: what all saw, [R, sum of o_i].
            mixer: networks as ``_mixer_networks`` makes them.
        """

    @property
    def products(self) -> int:
        """Products that mixing takes for a row, without those of the mixer's networks."""
        return 0

    def _mixer_networks(self, state: int, rng: np.random.Generator) -> list[Networks]:
        """Return new networks of the mixer, which see so many numbers."""
        return []

    def greedy(self, observations: Sequence[Floats32]) -> Integers:
        """Return the best choices int64[E, D], agent by agent; operations are not counted.

        Args:
            observations: of every agent, float32[E, o_i].
        """
        with one_thread(), torch.no_grad():
            seen = padded([observations], self._observations)
            return self._heads.chosen(self._values(self.networks, seen))

    def act(self, observations: Sequence[Floats32], epsilon: float) -> Integers:
        """Return choices int64[E, D], each with a chance of ``epsilon`` a random one."""
        best = self.greedy(observations)
        self.meter.forward("act agents", self.by_network(self.topology.links)["agents"], len(best))
        chances = self._rng.random((2, *best.shape))
        random = (chances[1] * self._choices).astype(np.int64)
        return np.where(chances[0] < epsilon, random, best)

    @one_thread()
    def team_values(
        self, observations: Sequence[Floats32], actions: Sequence[Floats32]
    ) -> Floats32:
        """Return the team's values of what agents do, float32[E]; of IQL the mean over agents.

        Args:
            observations: of every agent, float32[E, o_i].
            actions: the choices of its heads, float32[E, heads].
        """
        with torch.no_grad():
            values = self._taken(
                padded([observations], self._observations),
                tensor(np.concatenate(observations, axis=1)),
                padded([actions], self._places).long(),
            )
            found: Floats32 = values.mean(dim=0).numpy()
            return found

    @one_thread()
    def update(self, batch: Batch, length: int) -> None:
        """Learn from episodes of some length, as ``Episodes.draw`` returns them, or move links."""
        self.updates += 1
        rows, settings = self.stack(batch, length), self.settings
        if settings.moving and not self.updates % settings.interval:
            self._move_links(rows)
        else:
            trained = [each for one in self.networks for each in one.trained]
            gradients = iter(self.gradients(rows, trained))
            for one, optimiser in zip(self.networks, self._optimisers, strict=True):
                optimiser.step(list(islice(gradients, len(one.trained))))
            for network, links in self.by_network(self.topology.links).items():
                self.meter.update(f"update {network}", links, len(rows.there))
        if not self.updates % settings.copy:
            self._copy()

    def stack(self, batch: Batch, length: int) -> EpisodeRows:
        """Return R = T * B rows of episodes of length T, step after step, as tensors."""
        going = 1 - tensor(batch.dones[:, 0]).unflatten(0, (length, -1))
        return EpisodeRows(
            padded([batch.observations], self._observations),
            tensor(np.concatenate(batch.observations, axis=1)),
            padded([batch.actions], self._places).long(),
            tensor(batch.rewards.mean(axis=1)).unflatten(0, (length, -1)),
            going,
            # An episode that has ended stays so.
            torch.cat([torch.ones_like(going[:1]), going[:-1]]).flatten(),
            padded([batch.next_observations], self._observations),
            tensor(np.concatenate(batch.next_observations, axis=1)),
        )

    def gradients(self, rows: EpisodeRows, weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the gradients of weights that the values are computed with."""
        targets = self.target_values(rows)
        mixed = self._taken(rows.seen, rows.states, rows.actions)
        squares = ((mixed - targets.flatten(1)) ** 2 * rows.there).sum(dim=1) / rows.there.sum()
        found: tuple[Tensor, ...] = torch.autograd.grad(squares.sum(), weights)
        return found

    def target_values(self, rows: EpisodeRows) -> Tensor:
        """Return what values should have been, [K, T, B]; K is 1 if nothing follows."""
        settings = self.settings
        if settings.discount == 0:
            return rows.rewards[None]
        for network, links in self.by_network(self._target_links).items():
            self.meter.forward(f"target {network}", links, len(rows.there))
        with torch.no_grad():
            utilities = self._utilities(self._worth(rows.seen_next))
            following = self.mixed(utilities, rows.states_next, self.targets[1:])
            return lambda_returns(
                rows.rewards,
                following.unflatten(1, rows.rewards.shape),
                rows.going,
                settings.discount,
                settings.trace if self.updates > settings.one_step * settings.updates else 0,
            )

    def _worth(self, seen: Tensor) -> Tensor:
        """Return what each head can gain in states [N, R, O], by the targets, [N, R, H]."""
        settings, values = self.settings, self._values(self.targets, seen)
        if settings.worth == "soft_mellowmax":
            return soft_mellowmax(values, self._heads.present, settings.alpha, settings.omega)
        return values.amax(dim=3)

    def _values(self, networks: Sequence[Networks], seen: Tensor) -> Tensor:
        """Return the values of the choices of all heads, [N, R, H, C]."""
        return self._heads.apart(networks[0](seen))

    def _taken(self, seen: Tensor, states: Tensor, actions: Tensor) -> Tensor:
        """Return the values of what agents do, [K, R]; arguments are fields of ``EpisodeRows``."""
        chosen = self._values(self.networks, seen).gather(3, actions[..., None])[..., 0]
        return self.mixed(self._utilities(chosen), states, self.networks[1:])

    def _utilities(self, values: Tensor) -> Tensor:
        """Return the mean over the heads of each agent, [N, R, H] -> [N, R]."""
        return (values * self._shares).sum(dim=2)

    def _move_links(self, rows: EpisodeRows) -> None:
        settings = self.settings
        share = cosine_share(settings.share, self.updates / settings.updates)
        moments = [each.moments for each in self._optimisers]
        spread = [
            [one.spread(kind) for kind in kinds]
            for one, kinds in zip(self.networks, moments, strict=True)
        ]
        every = [list(chain(*kind)) for kind in zip(*spread, strict=True)]
        with ExitStack() as stack:
            # What is dropped, and where it grows, is read from whole parameters.
            for one in self.networks:
                stack.enter_context(one.whole())
            gradients = self._dense_gradients(rows) if settings.growth == "gradient" else None
            self.topology.evolve(share, gradients, every)
        for (one, masks), old, new in zip(self._with_masks(), moments, spread, strict=True):
            one.keep(masks, old, new)

    def _dense_gradients(self, rows: EpisodeRows) -> tuple[Tensor, ...]:
        """Return the gradients of all parameters, whether they exist or not."""
        weights = self.by_network(self.topology.sizes)
        for network, links in self.by_network(self.topology.links).items():
            self.meter.dense_gradients(f"grow {network}", links, weights[network], len(rows.there))
        return self.gradients(rows, [each for one in self.networks for each in one.parameters])

    def _with_masks(self) -> Iterator[tuple[Networks, list[Tensor]]]:
        """Yield all networks with the masks of their parameters."""
        masks = iter(self.topology.masks)
        for one in self.networks:
            yield one, list(islice(masks, len(one.parameters)))

    def _copy(self) -> None:
        """Make the targets, weights and masks, what the networks are."""
        self.targets = [one.copy() for one in self.networks]
        self._target_links = self.topology.links

    def by_network(self, of_matrices: Sequence[int]) -> dict[str, int]:
        """Return the sums of numbers of all matrices, links or weights, of agents and of the mixer.

        The products of mixing count as the mixer's.
        """
        agents = sum(of_matrices[: self._of_agents])
        return {"agents": agents, "mixer": sum(of_matrices) - agents + self.products}


def _matrices(every: Sequence[Networks]) -> list[Matrix]:
    """Return the matrices of networks whose parameters stand one after the other."""
    found, first = [], 0
    for networks in every:
        for layer, shapes in enumerate(networks.shapes):
            # Of each layer the weights, and after them the biases.
            found += [
                Matrix(first + 2 * layer, (index, slice(inputs), slice(outputs)))
                for index, (inputs, outputs) in enumerate(shapes)
            ]
        first += len(networks.parameters)
    return found
