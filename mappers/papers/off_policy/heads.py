"""What agents choose: one or more heads each, all with a softmax of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from maestro_env.mappers.papers.off_policy.networks import tensor
from maestro_env.mappers.parts.arrays import Booleans, Floats, Floats32, Integers

NEVER = -1e9
"""Logit of a choice that a head does not have: its chance is exactly 0."""


class Heads:
    """The D heads of N agents, padded to H heads of C choices for each agent.

    Args:
        heads: number of choices of each head of each agent.
        features: how critics see the choices of each head, float64[choices, f], D arrays; None for
            one-hots.

    Attributes:
        present: which choices there are, bool[N, 1, H, C].
        width: numbers by which critics see one choice of each head.
    """

    def __init__(
        self, heads: Sequence[Sequence[int]], features: Sequence[Floats] | None = None
    ) -> None:
        self._counts = [count for counts in heads for count in counts]
        self._agents = [agent for agent, counts in enumerate(heads) for _ in counts]
        self._places = [place for counts in heads for place in range(len(counts))]
        self._features = features
        self._widths = [each.shape[1] for each in features] if features else self._counts
        self.width = sum(self._widths)
        # Where each choice stands among its agent's, and each feature among those of all agents.
        every, exists = self._numbered(self._counts)
        firsts = np.cumsum([0, *map(sum, heads[:-1])])[:, np.newaxis, np.newaxis, np.newaxis]
        self._own = torch.from_numpy(np.where(exists, every - firsts, 0))
        self.present = torch.from_numpy(exists)
        self._every = torch.from_numpy(self._numbered(self._widths)[0])
        owner = np.repeat(self._agents, self._widths)
        self._of_others = tensor(owner != np.arange(len(heads))[:, np.newaxis, np.newaxis])
        self._tables = self._stacked(features) if features else None

    def _numbered(self, of_heads: Sequence[int]) -> tuple[Integers, Booleans]:
        """Count through some entries of each head: int64[N, 1, H, most], and where there are any.

        It is 0 where there is none.
        """
        shape = max(self._agents) + 1, 1, max(self._places) + 1, max(of_heads)
        found, exists = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        ends = np.cumsum(of_heads)
        for agent, place, count, end in zip(
            self._agents, self._places, of_heads, ends.tolist(), strict=True
        ):
            found[agent, 0, place, :count] = np.arange(end - count, end)
            exists[agent, 0, place, :count] = True
        return found, exists

    def _stacked(self, features: Sequence[Floats]) -> Tensor:
        """Return the features of all choices, [N, H, C, F]."""
        agents, _, most, choices = self.present.shape
        tables = np.zeros((agents, most, choices, max(self._widths)))
        for agent, place, table in zip(self._agents, self._places, features, strict=True):
            tables[agent, place, : table.shape[0], : table.shape[1]] = table
        return tensor(tables)

    def apart(self, logits: Tensor) -> Tensor:
        """Return logits [N, R, A] by head, [N, R, H, C]; what is missing is never chosen."""
        index = self._own.flatten(1).unsqueeze(1).expand(-1, logits.shape[1], -1)
        found = logits.gather(2, index).unflatten(2, self._own.shape[2:])
        return found.masked_fill(~self.present, NEVER)

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
        """Return choices int64[E, D] as critics see them, float32[E, w_i] of each agent."""
        parts: list[list[Floats32]] = [[] for _ in range(len(self.present))]
        for head, (agent, column) in enumerate(zip(self._agents, choices.T, strict=True)):
            table = self._features[head] if self._features else np.eye(self._counts[head])
            parts[agent].append(table[column].astype(np.float32))
        return [np.concatenate(each, axis=1) for each in parts]

    def joined(self, actions: Tensor) -> Tensor:
        """Return what critics see of actions [N, K, B, H, C] of all agents, [K, B, width]."""
        seen = self._seen(actions.flatten(1, 2)).unflatten(1, actions.shape[1:3])
        cut = zip(self._agents, self._places, self._widths, strict=True)
        return torch.cat([seen[agent, :, :, place, :width] for agent, place, width in cut], 2)

    def replaced(self, joint: Tensor, actions: Tensor) -> Tensor:
        """Return rows [N, B, J] with each agent's own actions replaced by [N, B, H, C].

        Args:
            joint: [K, B, J], K is N or 1; actions of all agents come last.
            actions: 0 where a choice is missing.
        """
        seen, taken = joint[:, :, : -self.width], joint[:, :, -self.width :] * self._of_others
        index = self._every.flatten(2).expand(-1, joint.shape[1], -1)
        changed = taken.scatter_add(2, index, self._seen(actions).flatten(2))
        return torch.cat([seen.expand(len(changed), -1, -1), changed], dim=2)

    def _seen(self, actions: Tensor) -> Tensor:
        """Return what critics see of actions [N, R, H, C], linear in them, [N, R, H, F]."""
        if self._tables is None:
            return actions
        return torch.einsum("nrhc,nhcf->nrhf", actions, self._tables)
