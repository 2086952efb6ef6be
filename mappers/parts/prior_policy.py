"""The policy of a learned prior in PyTorch, and the steps that train it: imitation and gradient.

The core runs the same networks (``maestro_env.prior``). A mapping is made by decisions
(``native/prior/decisions.hpp``), each with a network of its own that scores options. The
log-probability of a mapping is the sum of its decisions'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from maestro_env.mappers.parts.sparse_topology import Matrix, Topology, adam_moments, cosine_share
from maestro_env.prior.file import WIDTHS, Arrays, Widths, shapes
from maestro_env.prior.proposals import Trace

# Entries of a context differ less than the others.
_CONTEXT_SCALE = 4.0


@dataclass(frozen=True)
class _Decision:
    """The rows of one decision, of all mappings of a batch."""

    context: Tensor  # float32[R, C]
    state: Tensor  # float32[R, S]
    features: Tensor  # float32[T, F], the options of all rows one after the other
    row: Tensor  # int64[T], whose option it is
    chosen: Tensor  # int64[R], index into the options of all rows
    mapping: Tensor  # int64[R]


@dataclass(frozen=True)
class TraceBatch:
    """Mappings of several problems, as networks learn them.

    Args:
        size: mappings.
        decisions: rows by decision.
    """

    size: int
    decisions: Mapping[int, _Decision]

    @classmethod
    def of(cls, traces: Sequence[tuple[int, Trace, NDArray[np.float32]]]) -> TraceBatch:
        """Join traces, each with its number of mappings and the context of its problem."""
        firsts = np.cumsum([0, *(count for count, _, _ in traces)])
        columns = list(zip(*(trace for _, trace, _ in traces), strict=True))
        mapping, decision, chosen, options, states, features = map(np.concatenate, columns)
        rows = [len(trace[0]) for _, trace, _ in traces]
        problem = np.repeat(np.arange(len(traces)), rows)
        mapping = mapping + firsts[problem]
        contexts = np.stack([context for _, _, context in traces])
        ends = np.cumsum(options)
        batch = {}
        for each in np.unique(decision):
            (at,) = np.nonzero(decision == each)
            counts = options[at]
            starts = np.cumsum(counts) - counts
            row = np.repeat(np.arange(len(at)), counts)
            option = np.arange(len(row)) + (ends[at] - counts - starts)[row]
            batch[int(each)] = _Decision(
                torch.from_numpy(contexts[problem[at]]),
                torch.from_numpy(states[at]),
                torch.from_numpy(features[option]),
                torch.from_numpy(row),
                torch.from_numpy(starts + chosen[at]).long(),
                torch.from_numpy(mapping[at]).long(),
            )
        return cls(int(firsts[-1]), batch)


class Policy(nn.Module):  # type: ignore[misc]
    """One small network a decision.

    Args:
        arrays: weights by name, as ``shapes`` says; None for new ones.
        seed: of new ones.
        widths: of new ones.
    """

    def __init__(
        self, arrays: Arrays | None = None, seed: int = 0, widths: Widths = WIDTHS
    ) -> None:
        super().__init__()
        arrays = _first_weights(seed, widths) if arrays is None else arrays
        self.networks = [
            nn.ParameterDict(
                {name: nn.Parameter(torch.tensor(array[i])) for name, array in arrays.items()}
            )
            for i in range(len(arrays["bias"]))
        ]
        # The list alone would not make their weights those of this module.
        self._registered = nn.ModuleList(self.networks)

    def log_probabilities(self, batch: TraceBatch) -> tuple[Tensor, Tensor]:
        """Return of every mapping its log-probability and its decisions' entropy, float32[N]."""
        chosen, entropy = torch.zeros(batch.size), torch.zeros(batch.size)
        for each, rows in batch.decisions.items():
            own, spread = _chosen(self.networks[each], rows)
            chosen = chosen.index_add(0, rows.mapping, own)
            entropy = entropy.index_add(0, rows.mapping, spread)
        return chosen, entropy

    def arrays(self) -> Arrays:
        """Return the weights by name."""
        return {
            name: np.stack([net[name].detach().numpy() for net in self.networks])
            for name in self.networks[0]
        }


def _chosen(net: nn.ParameterDict, rows: _Decision) -> tuple[Tensor, Tensor]:
    """Return the log-probability of what each row chose and its entropy, float32[R]."""
    first = torch.relu(
        torch.addmm(net["bias"], rows.state, net["state"]) + rows.context @ net["context"]
    )
    second = torch.addmm(net["mixed_bias"], first, net["hidden"])
    mixed = torch.relu(torch.addmm(second[rows.row], rows.features, net["option"]))
    scores = mixed @ net["score"]
    most = torch.full((len(second),), -torch.inf).scatter_reduce(
        0, rows.row, scores.detach(), "amax", include_self=False
    )
    scores = scores - most[rows.row]
    shares = torch.exp(scores)
    sums = torch.zeros(len(second), 2).index_add(
        0, rows.row, torch.stack([shares, shares * scores], dim=1)
    )
    logarithm = torch.log(sums[:, 0])
    return scores[rows.chosen] - logarithm, logarithm - sums[:, 1] / sums[:, 0]


def _first_weights(seed: int, widths: Widths) -> Arrays:
    rng = np.random.default_rng(seed)
    scales = {"context": _CONTEXT_SCALE, "bias": 0.0, "mixed_bias": 0.0}
    arrays = {}
    for name, shape in shapes(widths).items():
        scale = scales.get(name, 1.0) / np.sqrt(shape[1])
        arrays[name] = (scale * rng.standard_normal(shape)).astype(np.float32)
    # The first policy is almost uniform.
    arrays["score"] *= 0.1
    return arrays


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
