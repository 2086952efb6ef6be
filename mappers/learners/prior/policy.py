"""The networks of a learned prior in PyTorch, for training; the core runs the same ones.

A mapping is made by decisions (``native/prior/decisions.hpp``), each with a network of its own that
scores options. The log-probability of a mapping is the sum of its decisions'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from maestro_env.prior.file import WIDTHS, Arrays, Widths, shapes
from maestro_env.prior.proposer import Trace

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
