"""A small GPT: pre-norm, GELU, no biases, learnt positions, head tied to the embedding.

Attention is full, or hybrid sparse: a position sees a window, the last of which it is itself, and
every ``window``-th position further back (Child et al., *Generating Long Sequences with Sparse
Transformers*, 2019). What is seen is gathered block by block: of T positions, each has a score for
``2 * window + T / window`` others, half of them masked, not for T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention

from maestro_env.base.errors import MaestroEnvError
from maestro_env.mappers.papers.transformer.tokens import VOCABULARY
from maestro_env.mappers.parts.sparse_topology import Matrix

_SPREAD = 0.02
_MATRICES = ("qkv", "out", "up", "down")

Cache = list[tuple[Tensor, ...]]
"""Keys and values of the positions before, [B, H, T, Q] of each block."""


class TransformerError(MaestroEnvError, ValueError):
    """A transformer that cannot be, or tokens that it cannot read."""


@dataclass(frozen=True)
class GptShape:
    """How large a transformer is.

    Args:
        blocks: of attention and feed-forward.
        width: numbers that stand for a token.
        heads: of attention; they share the width.
        length: the most tokens that it reads.
        vocabulary: tokens that there are.

    Raises:
        TransformerError: a width that the heads cannot share.
    """

    blocks: int = 4
    width: int = 128
    heads: int = 4
    length: int = 128
    vocabulary: int = VOCABULARY

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise TransformerError(
                f"width is {self.width}; allowed: a multiple of the {self.heads} heads"
            )

    @property
    def matrices(self) -> int:
        """Weights of the matrices that may be sparse."""
        return 12 * self.blocks * self.width**2

    @property
    def head(self) -> int:
        """Weights of the head, which is dense."""
        return self.width * self.vocabulary

    def attention(self, window: int | None) -> int:
        """Return the products of numbers that attention needs for ``length`` positions."""
        return 2 * self.blocks * self.width * seen_pairs(self.length, window)


def seen_pairs(length: int, window: int | None) -> int:
    """Return how many pairs there are of a position and one that it sees.

    Masked ones do not count, in full attention neither.

    Args:
        length: positions.
        window: of sparse attention, a divisor of the length; None for full attention.
    """
    if window is None:
        return length * (length + 1) // 2
    blocks = length // window
    near = window * length - window * (window - 1) // 2
    return near + window * blocks * (blocks - 1) // 2


class Gpt(nn.Module):  # type: ignore[misc]
    """A transformer that predicts tokens from those before.

    Args:
        shape: how large it is.
        seed: of the first weights.
    """

    def __init__(self, shape: GptShape, seed: int = 0) -> None:
        super().__init__()
        self.shape, width = shape, shape.width
        noise = torch.Generator().manual_seed(seed)

        def normal(*sizes: int, spread: float = _SPREAD) -> nn.Parameter:
            return nn.Parameter(spread * torch.randn(*sizes, generator=noise))

        # Sums of all blocks begin no larger than those of one.
        onto_sums = _SPREAD / math.sqrt(2 * shape.blocks)
        self.embedding = normal(shape.vocabulary, width)
        self.positions = normal(shape.length, width)
        self.blocks = nn.ModuleList(
            nn.ParameterDict(
                {
                    "attention_gain": nn.Parameter(torch.ones(width)),
                    "qkv": normal(width, 3 * width),
                    "out": normal(width, width, spread=onto_sums),
                    "feed_gain": nn.Parameter(torch.ones(width)),
                    "up": normal(width, 4 * width),
                    "down": normal(4 * width, width, spread=onto_sums),
                }
            )
            for _ in range(shape.blocks)
        )
        self.gain = nn.Parameter(torch.ones(width))

    @property
    def sparse(self) -> list[Matrix]:
        """The matrices that may be sparse, as parts of ``parameters()``."""
        names = [name for name, _ in self.named_parameters()]
        return [Matrix(i) for i, name in enumerate(names) if name.rpartition(".")[2] in _MATRICES]

    def forward(
        self, tokens: Tensor, window: int | None = None, cache: Cache | None = None
    ) -> Tensor:
        """Return logits of the tokens that follow, float32[B, T, V], of tokens int64[B, T].

        Args:
            tokens: of B rows.
            window: of sparse attention, a divisor of T; None for full attention.
            cache: of the tokens before, to which these are added; empty at first. With tokens
                before, T is 1.

        Raises:
            TransformerError: more tokens than it reads, or a window that does not divide them.
        """
        length = tokens.shape[1]
        before = cache[0][0].shape[2] if cache else 0
        if before + length > self.shape.length:
            raise TransformerError(
                f"{before + length} tokens; allowed: at most {self.shape.length}"
            )
        x = self.embedding[tokens] + self.positions[before : before + length]
        for number, block in enumerate(self.blocks):
            normal = layer_norm(x, x.shape[-1:], block["attention_gain"])
            seen = (normal @ block["qkv"]).unflatten(2, (3, self.shape.heads, -1))
            query, key, value = seen.permute(2, 0, 3, 1, 4)
            if cache is not None:
                key, value = _added(cache, number, (key, value))
            found = attention(query, key, value, window)
            x = x + found.transpose(1, 2).flatten(2) @ block["out"]
            normal = layer_norm(x, x.shape[-1:], block["feed_gain"])
            x = x + gelu(normal @ block["up"]) @ block["down"]
        return layer_norm(x, x.shape[-1:], self.gain) @ self.embedding.T


def _added(cache: Cache, number: int, pair: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Add keys and values of a block to a cache; return all there are."""
    if number == len(cache):
        cache.append(pair)
    else:
        both = zip(cache[number], pair, strict=True)
        cache[number] = tuple(torch.cat(old_and_new, dim=2) for old_and_new in both)
    return cache[number]


def attention(query: Tensor, key: Tensor, value: Tensor, window: int | None) -> Tensor:
    """Return what each position takes from those it sees, [B, H, T, Q].

    Args:
        query: [B, H, T, Q].
        key: the same, or one query with keys of more positions, the last of which is its own.
        value: as ``key``.
        window: of sparse attention, a divisor of T; None for full attention.

    Raises:
        TransformerError: a window that does not divide T.
    """
    if window is None:
        return scaled_dot_product_attention(query, key, value, is_causal=query.shape[2] > 1)
    if query.shape[2] % window:
        raise TransformerError(f"window is {window}; allowed: a divisor of {query.shape[2]}")
    queries, keys, values = (each.unflatten(2, (-1, window)) for each in (query, key, value))
    # Block by block, [B, H, T / window, window, *]: keys of this block and the one before.
    near_keys, near_values = _with_previous(keys), _with_previous(values)
    near = queries @ near_keys.transpose(3, 4)
    # Positions at the same place of each block, [B, H, window, T / window, *].
    far = queries.transpose(2, 3) @ keys.transpose(2, 3).transpose(3, 4)
    blocks = keys.shape[2]
    near = near.masked_fill(~_near_mask(blocks, window), -math.inf)
    far = far.masked_fill(~torch.ones(blocks, blocks).tril(-1).bool(), -math.inf)
    scores = torch.cat([near, far.transpose(2, 3)], dim=4) / math.sqrt(query.shape[3])
    near, far = scores.softmax(dim=4).split([2 * window, blocks], dim=4)
    found = near @ near_values + (far.transpose(2, 3) @ values.transpose(2, 3)).transpose(2, 3)
    return found.flatten(2, 3)


def _with_previous(blocks: Tensor) -> Tensor:
    """Put the block before in front of each of [B, H, N, W, Q]: [B, H, N, 2 * W, Q]."""
    previous = torch.cat([torch.zeros_like(blocks[:, :, :1]), blocks[:, :, :-1]], dim=2)
    return torch.cat([previous, blocks], dim=3)


def _near_mask(blocks: int, window: int) -> Tensor:
    """Return which of two blocks' positions are in the window, bool[N, W, 2 * W]."""
    back = window + torch.arange(window)[:, None] - torch.arange(2 * window)
    mask = ((back >= 0) & (back < window)).repeat(blocks, 1, 1)
    # There is no block before the first.
    mask[0, :, :window] = False
    return mask
