"""What agents choose: one or more heads each, all with a softmax of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mappers.learners.off_policy.networks import tensor
from mappers.learners.tasks.physics import Floats32
from mappers.parts.arrays import Integers

# Logit of a choice that a head does not have: its chance is exactly 0.
_NEVER = -1e9


class Heads:
    """The D heads of N agents, padded to H heads of C choices for each agent.

    Args:
        heads: number of choices of each head of each agent.

    Attributes:
        present: which choices there are, bool[N, 1, H, C].
    """

    def __init__(self, heads: Sequence[Sequence[int]]) -> None:
        self._counts = [count for counts in heads for count in counts]
        self._agents = [agent for agent, counts in enumerate(heads) for _ in counts]
        self._places = [place for counts in heads for place in range(len(counts))]
        most = max(map(len, heads))
        # Where each choice stands among the actions of its agent, and of all agents.
        own = np.zeros((len(heads), 1, most, max(self._counts)), dtype=np.int64)
        every, present = own.copy(), np.zeros(own.shape, dtype=bool)
        self._actions = np.array([sum(counts) for counts in heads])
        firsts = np.cumsum(self._counts) - self._counts
        starts = np.cumsum(self._actions) - self._actions
        for agent, place, count, first in self._each(firsts.tolist()):
            every[agent, 0, place, :count] = np.arange(first, first + count)
            own[agent, 0, place, :count] = every[agent, 0, place, :count] - starts[agent]
            present[agent, 0, place, :count] = True
        self._own, self._every = torch.from_numpy(own), torch.from_numpy(every)
        self.present = torch.from_numpy(present)
        owner = np.repeat(np.arange(len(heads)), self._actions)
        self._of_others = tensor(owner != np.arange(len(heads))[:, np.newaxis, np.newaxis])

    def _each(self, of_heads: Sequence[int]) -> list[tuple[int, int, int, int]]:
        """Return agent, place, number of choices and something else of each head."""
        return list(zip(self._agents, self._places, self._counts, of_heads, strict=True))

    def apart(self, logits: Tensor) -> Tensor:
        """Return logits [N, R, A] by head, [N, R, H, C]; what is missing is never chosen."""
        index = self._own.flatten(1).unsqueeze(1).expand(-1, logits.shape[1], -1)
        found = logits.gather(2, index).unflatten(2, self._own.shape[2:])
        return found.masked_fill(~self.present, _NEVER)

    def one_hots(self, logits: Tensor) -> Tensor:
        """Return 1 at the largest logit of each head and 0 elsewhere, [N, R, H, C]."""
        largest = torch.zeros_like(logits).scatter_(3, logits.argmax(dim=3, keepdim=True), 1)
        # Of a head that is missing, all are alike.
        return largest * self.present

    def chosen(self, logits: Tensor) -> Integers:
        """Return the choice with the largest logit of each head, int64[R, D]."""
        found: Integers = logits.argmax(dim=3)[self._agents, :, self._places].T.numpy()
        return found

    def encoded(self, choices: Integers) -> list[Floats32]:
        """Return choices int64[E, D] as one-hots, float32[E, a_i] of each agent."""
        hot = [
            np.eye(count, dtype=np.float32)[column]
            for count, column in zip(self._counts, choices.T, strict=True)
        ]
        return np.split(np.concatenate(hot, axis=1), np.cumsum(self._actions)[:-1], axis=1)

    def joined(self, actions: Tensor) -> Tensor:
        """Return actions [N, K, B, H, C] next to each other, [K, B, sum of a_i]."""
        cut = zip(self._agents, self._places, self._counts, strict=True)
        return torch.cat([actions[agent, :, :, place, :count] for agent, place, count in cut], 2)

    def replaced(self, joint: Tensor, actions: Tensor) -> Tensor:
        """Return rows [N, B, J] with each agent's own actions replaced by [N, B, H, C].

        Args:
            joint: [K, B, J], K is N or 1; actions of all agents come last.
            actions: 0 where a choice is missing.
        """
        width = self._of_others.shape[2]
        seen, taken = joint[:, :, :-width], joint[:, :, -width:] * self._of_others
        index = self._every.flatten(2).expand(-1, joint.shape[1], -1)
        changed = taken.scatter_add(2, index, actions.flatten(2))
        return torch.cat([seen.expand(len(changed), -1, -1), changed], dim=2)
