"""Training steps of a prior: imitation of good mappings, and policy gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from maestro_env.mappers.learners.prior.policy import Policy, TraceBatch
from maestro_env.mappers.learners.sparse_topology import (
    Matrix,
    Topology,
    adam_moments,
    cosine_share,
)
from maestro_env.prior.file import Arrays

_MOMENTS = ("exp_avg", "exp_avg_sq")
_BETAS = (0.9, 0.99)
_MOST_CHANGE = 1.0
# Steps until the learning rate is reached, and what is left of it in the end.
_WARM_UP = 20
_LAST_RATE = 0.02
# Steps between two moves of links, and the share of the links that moves at first.
_INTERVAL, _SHARE = 100, 0.3


class Learner:
    """A policy and its optimiser, Adam (arXiv:1412.6980).

    Args:
        policy: to be trained.
        rate: the highest learning rate; it rises fast, then falls as a cosine does.
        steps: of the whole training.
        topology: the weights that exist, which move by RigL; None if all do.
    """

    def __init__(
        self, policy: Policy, rate: float, steps: int, topology: Topology | None = None
    ) -> None:
        self.policy, self._topology = policy, topology
        self._rate, self._steps, self._done = rate, steps, 0
        self._optimiser = torch.optim.Adam(policy.parameters(), rate, _BETAS, foreach=True)
        # Every weight takes every step, so that the number of steps is all there is to keep.
        for weight in policy.parameters():
            weight.grad = torch.zeros_like(weight)

    def imitate(self, good: TraceBatch) -> float:
        """Make good mappings likelier; return the mean entropy of the policy for them."""
        chosen, entropy = self.policy.log_probabilities(good)
        self._step(-chosen.mean())
        return float(entropy.detach().mean())

    def improve(
        self,
        drawn: TraceBatch,
        advantages: NDArray[np.float32],
        targets: Mapping[float, TraceBatch],
    ) -> float:
        """Make mappings likelier that are better than others of their problem.

        Args:
            drawn: N mappings that the policy has drawn.
            advantages: float32[N], positive for better ones.
            targets: by its weight, a batch of mappings to imitate.

        Returns:
            The mean entropy of the policy for what it has drawn.
        """
        chosen, entropy = self.policy.log_probabilities(drawn)
        loss = -(torch.from_numpy(advantages) * chosen).mean()
        for weight, batch in targets.items():
            loss = loss - weight * self.policy.log_probabilities(batch)[0].mean()
        self._step(loss)
        return float(entropy.detach().mean())

    def _step(self, loss: torch.Tensor) -> None:
        risen = min(1.0, (self._done + 1) / _WARM_UP)
        falls = 0.5 + 0.5 * math.cos(math.pi * self._done / self._steps)
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * risen * (_LAST_RATE + (1 - _LAST_RATE) * falls)
        self._optimiser.zero_grad(set_to_none=False)
        loss.backward()
        self._done += 1
        if self._topology and self._done % _INTERVAL == 0:
            self._move_links(self._topology)
            return
        weights = list(self.policy.parameters())
        if self._topology:
            for weight, mask in zip(weights, self._topology.masks, strict=True):
                weight.grad.mul_(mask)
        torch.nn.utils.clip_grad_norm_(weights, _MOST_CHANGE)
        self._optimiser.step()

    def _move_links(self, topology: Topology) -> None:
        """Drop and grow links; this takes the place of a step of Adam."""
        weights = list(self.policy.parameters())
        topology.evolve(
            cosine_share(_SHARE, self._done / self._steps),
            [weight.grad for weight in weights],
            adam_moments(self._optimiser, weights),
        )

    def arrays(self) -> Arrays:
        """Return weights, moments and masks, for ``load``."""
        arrays = dict(self.policy.arrays())
        if self._topology:
            masks = iter(self._topology.masks)
            every = [{name: next(masks).numpy() for name in net} for net in self.policy.networks]
            arrays |= {f"mask/{name}": np.stack([net[name] for net in every]) for name in every[0]}
        for moment in _MOMENTS:
            for name, array in self._moment(moment).items():
                arrays[f"{moment}/{name}"] = array
        return arrays

    def load(self, arrays: Mapping[str, NDArray[np.float32]], done: int) -> None:
        """Go on from arrays after so many steps."""
        self._done = done
        masks = iter(self._topology.masks if self._topology else ())
        steps = done - done // _INTERVAL if self._topology else done
        for i, net in enumerate(self.policy.networks):
            for name, weight in net.items():
                weight.data = torch.tensor(arrays[name][i])
                if self._topology:
                    next(masks).copy_(torch.from_numpy(arrays[f"mask/{name}"][i]))
                self._optimiser.state[weight] = {
                    "step": torch.tensor(float(steps)),
                    **{each: torch.tensor(arrays[f"{each}/{name}"][i]) for each in _MOMENTS},
                }

    def _moment(self, moment: str) -> Arrays:
        state, nets = self._optimiser.state, self.policy.networks
        return {
            name: np.stack([state[net[name]][moment].numpy() for net in nets]) for name in nets[0]
        }


def sparse_topology(policy: Policy, density: float, rng: np.random.Generator) -> Topology:
    """Return a topology of all matrices of a policy's networks; vectors keep all their weights.

    Args:
        policy: whose weights that do not exist become 0.
        density: share of the weights of the matrices that exist.
        rng: draws which.

    Raises:
        SparsityError: a density that is not above 0 and at most 1.
    """
    weights = list(policy.parameters())
    matrices = [Matrix(number) for number, weight in enumerate(weights) if weight.ndim == 2]
    return Topology(weights, matrices, density, rng)
