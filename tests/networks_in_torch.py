"""Known networks in plain PyTorch, by their papers; nothing is downloaded or initialised."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name


def convolve(inputs: int, outputs: int, window: int, stride: int = 1, groups: int = 1) -> nn.Module:
    """Return a convolution that is padded by half its window, and its normalisation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, window, stride, window // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    )


class Residual(nn.Module):
    """He et al. (arXiv:1512.03385), figure 5: a basic block, or a bottleneck."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = width * 4 if bottleneck else width
        if bottleneck:
            parts = [convolve(inputs, width, 1), convolve(width, width, 3, stride)]
            parts.append(convolve(width, outputs, 1))
        else:
            parts = [convolve(inputs, width, 3, stride), convolve(width, width, 3)]
        self.parts = nn.ModuleList(parts)
        changes = stride > 1 or inputs != outputs
        self.shortcut = convolve(inputs, outputs, 1, stride) if changes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for number, part in enumerate(self.parts):
            y = part(y) if number == len(self.parts) - 1 else part(y).relu()
        return (y + self.shortcut(x)).relu()


def resnet(
    depths: Sequence[int], bottleneck: bool, width: int = 64, classes: int = 1000
) -> nn.Module:
    """He et al. (arXiv:1512.03385), table 1."""
    layers = [convolve(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = width
    for stage, depth in enumerate(depths):
        for block in range(depth):
            stride = 2 if stage and not block else 1
            layers.append(Residual(channels, width * 2**stage, stride, bottleneck))
            channels = width * 2**stage * (4 if bottleneck else 1)
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )


class InvertedResidual(nn.Module):
    """Sandler et al. (arXiv:1801.04381), table 1."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        expand = [convolve(inputs, hidden, 1), nn.ReLU6()] if expansion > 1 else []
        self.parts = nn.Sequential(
            *expand,
            convolve(hidden, hidden, 3, stride, groups=hidden),
            nn.ReLU6(),
            convolve(hidden, outputs, 1),
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.parts(x) if self.adds else self.parts(x)


def mobilenetv2() -> nn.Module:
    """Sandler et al. (arXiv:1801.04381), table 2."""
    layers, channels = [convolve(3, 32, 3, 2), nn.ReLU6()], 32
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)]
    table += [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, outputs, repeats, stride in table:
        for number in range(repeats):
            step = 1 if number else stride
            layers.append(InvertedResidual(channels, outputs, step, expansion))
            channels = outputs
    layers += [convolve(channels, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(1280, 1000))


class Attention(nn.Module):
    """Scaled dot-product attention of several heads, whose keys and values may be fewer."""

    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.each = heads, kv_heads, width // heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, kv_heads * self.each)
        self.value = nn.Linear(width, kv_heads * self.each)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, past: Tensor | None = None) -> Tensor:
        batch, tokens, _ = x.shape
        query, key, value = (
            part(x).view(batch, tokens, heads, self.each).transpose(1, 2)
            for part, heads in (
                (self.query, self.heads),
                (self.key, self.kv_heads),
                (self.value, self.kv_heads),
            )
        )
        if past is not None:
            key, value = torch.cat([past, key], dim=2), torch.cat([past, value], dim=2)
        grouped = self.heads != self.kv_heads
        mixed = F.scaled_dot_product_attention(query, key, value, enable_gqa=grouped)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, -1))


class TransformerBlock(nn.Module):
    """Vaswani et al. (arXiv:1706.03762): attention and a feed-forward network."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads, heads)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, x: Tensor, past: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norms[0](x), past)
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class LlamaLayer(nn.Module):
    """Touvron et al. (arXiv:2307.09288): rotated heads, grouped queries, a gated network."""

    def __init__(self, width: int, heads: int, kv_heads: int, hidden: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads, kv_heads)
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(F.rms_norm(x, x.shape[-1:]))
        y = F.rms_norm(x, x.shape[-1:])
        return x + self.down(F.silu(self.gate(y)) * self.up(y))
