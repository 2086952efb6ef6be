"""Training steps of a prior: imitation of good mappings, and policy gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from mappers.learners.prior.policy import Policy, TraceBatch
from mappers.learners.prior.shapes import Arrays

_MOMENTS = ("exp_avg", "exp_avg_sq")
_BETAS = (0.9, 0.99)
_MOST_CHANGE = 1.0
# Steps until the learning rate is reached, and what is left of it in the end.
_WARM_UP = 20
_LAST_RATE = 0.02


class Learner:
    """A policy and its optimiser, Adam (arXiv:1412.6980).

    Args:
        policy: to be trained.
        rate: the highest learning rate; it rises fast, then falls as a cosine does.
        steps: of the whole training.
    """

    def __init__(self, policy: Policy, rate: float, steps: int) -> None:
        self.policy = policy
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
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), _MOST_CHANGE)
        self._optimiser.step()
        self._done += 1

    def arrays(self) -> Arrays:
        """Return weights, moments and the steps done, for ``load``."""
        arrays = dict(self.policy.arrays())
        for moment in _MOMENTS:
            for name, array in self._moment(moment).items():
                arrays[f"{moment}/{name}"] = array
        return arrays

    def load(self, arrays: Mapping[str, NDArray[np.float32]], done: int) -> None:
        """Go on from arrays after so many steps."""
        self._done = done
        for i, net in enumerate(self.policy.networks):
            for name, weight in net.items():
                weight.data = torch.tensor(arrays[name][i])
                self._optimiser.state[weight] = {
                    "step": torch.tensor(float(done)),
                    **{each: torch.tensor(arrays[f"{each}/{name}"][i]) for each in _MOMENTS},
                }

    def _moment(self, moment: str) -> Arrays:
        state, nets = self._optimiser.state, self.policy.networks
        return {
            name: np.stack([state[net[name]][moment].numpy() for net in nets]) for name in nets[0]
        }
