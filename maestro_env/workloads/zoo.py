"""Networks layer by layer, at batch 1: five CNNs as torchvision runs them, two transformers.

A layer is called ``<model>_l<i>``; ``i`` counts convolutions and linear layers from 0 in the order
of their execution, so a residual block's downsampling shortcut follows its last convolution. The
blocks of a transformer are alike: the layers are those of one, counted for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import LeftOut

_CLASSES = 1000


class _Network:
    """A network being written down: its layers so far and the feature map they end in.

    Attributes:
        shape: channels of the feature map, and its rows, which equal its columns.
    """

    def __init__(self, model: str) -> None:
        self.layers: list[Layer] = []
        self.shape = (3, 224)
        self._model = model

    def conv(self, outputs: int, window: int, stride: int = 1, padding: int | None = None) -> None:
        self._slide("CONV", {"K": outputs, "C": self.shape[0]}, window, stride, padding)
        self.shape = (outputs, self.shape[1])

    def depthwise(self, window: int, stride: int) -> None:
        self._slide("DSCONV", {"C": self.shape[0]}, window, stride, None)

    def max_pool(self, window: int, padding: int = 0) -> None:
        """Halve the feature map."""
        self.shape = (self.shape[0], (self.shape[1] + 2 * padding - window) // 2 + 1)

    def average_pool(self) -> None:
        """Average the whole feature map, channel by channel."""
        self.shape = (self.shape[0], 1)

    def linear(self, *widths: int) -> None:
        """Append linear layers; the first one reads the flattened feature map."""
        for outputs in widths:
            channels, size = self.shape
            self.gemm(1, outputs, channels * size * size)
            self.shape = (outputs, 1)

    def gemm(self, rows: int, outputs: int, inputs: int, count: int = 1) -> None:
        self._append("GEMM", {"M": rows, "N": outputs, "K": inputs}, 1, count)

    def _slide(
        self, operator: str, channels: dict[str, int], window: int, stride: int, padding: int | None
    ) -> None:
        """Append a convolution; unless told otherwise, it is padded by half its window."""
        padded = self.shape[1] + 2 * (window // 2 if padding is None else padding)
        self._append(
            operator, {**channels, "Y": padded, "X": padded, "R": window, "S": window}, stride
        )
        self.shape = (self.shape[0], (padded - window) // stride + 1)

    def _append(self, operator: str, extents: dict[str, int], stride: int, count: int = 1) -> None:
        name = f"{self._model}_l{len(self.layers)}"
        self.layers.append(Layer(operator, extents, (stride, stride), name, count))


def _alexnet(net: _Network) -> None:
    """Krizhevsky, "One weird trick for parallelizing CNNs" (arXiv:1404.5997).

    torchvision's adaptive pool to 6x6 finds 6x6 already, hence does nothing.
    """
    net.conv(64, 11, stride=4, padding=2)
    net.max_pool(3)
    net.conv(192, 5)
    net.max_pool(3)
    for outputs in (384, 256, 256):
        net.conv(outputs, 3)
    net.max_pool(3)
    net.linear(4096, 4096, _CLASSES)


def _vgg16(net: _Network) -> None:
    """Simonyan and Zisserman (arXiv:1409.1556), table 1, configuration D.

    torchvision's adaptive pool to 7x7 finds 7x7 already, hence does nothing.
    """
    for outputs, repeats in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(repeats):
            net.conv(outputs, 3)
        net.max_pool(2)
    net.linear(4096, 4096, _CLASSES)


# The convolutions of a block: multiple of its width, window, and whether it takes the stride.
_Block = tuple[tuple[int, int, bool], ...]
_BASIC: _Block = ((1, 3, True), (1, 3, False))
# torchvision strides the 3x3 convolution; the paper strides the first 1x1.
_BOTTLENECK: _Block = ((1, 1, False), (1, 3, True), (4, 1, False))


def _resnet(net: _Network, block: _Block, depths: tuple[int, ...]) -> None:
    """He et al. (arXiv:1512.03385), table 1."""
    net.conv(64, 7, stride=2)
    net.max_pool(3, padding=1)
    for stage, depth in enumerate(depths):
        for index in range(depth):
            _residual(net, block, 64 * 2**stage, 2 if stage > 0 and index == 0 else 1)
    net.average_pool()
    net.linear(_CLASSES)


def _residual(net: _Network, block: _Block, width: int, stride: int) -> None:
    entry = net.shape
    for multiple, window, strided in block:
        net.conv(multiple * width, window, stride if strided else 1)
    if net.shape != entry:
        outputs = net.shape[0]
        # The shortcut starts where the block started and ends where it ended.
        net.shape = entry
        net.conv(outputs, 1, stride)


# Expansion t, channels c, repeats n, stride s.
_MOBILENETV2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _mobilenetv2(net: _Network) -> None:
    """Sandler et al. (arXiv:1801.04381), table 2."""
    net.conv(32, 3, stride=2)
    for t, c, n, s in _MOBILENETV2:
        for index in range(n):
            if t > 1:
                net.conv(t * net.shape[0], 1)
            net.depthwise(3, s if index == 0 else 1)
            net.conv(c, 1)
    net.conv(1280, 1)
    net.average_pool()
    net.linear(_CLASSES)


_WIDTH, _HEADS, _BLOCKS, _VOCABULARY = 768, 12, 12, 50257
_GPT2_TOKENS, _AFTER = 1024, "it follows the last block"


def _transformer(net: _Network, tokens: int) -> None:
    """GPT-2 small (Radford et al., 2019) and BERT base (arXiv:1810.04805) have these sizes.

    The products are query-key-value, scores, context, projection, feed-forward up and down.
    """
    head_width = _WIDTH // _HEADS
    net.gemm(tokens, 3 * _WIDTH, _WIDTH, count=_BLOCKS)
    net.gemm(tokens, tokens, head_width, count=_BLOCKS * _HEADS)
    net.gemm(tokens, head_width, tokens, count=_BLOCKS * _HEADS)
    net.gemm(tokens, _WIDTH, _WIDTH, count=_BLOCKS)
    net.gemm(tokens, 4 * _WIDTH, _WIDTH, count=_BLOCKS)
    net.gemm(tokens, _WIDTH, 4 * _WIDTH, count=_BLOCKS)


_WRITERS: Mapping[str, Callable[[_Network], None]] = {
    "mobilenetv2": _mobilenetv2,
    "resnet18": partial(_resnet, block=_BASIC, depths=(2, 2, 2, 2)),
    "resnet50": partial(_resnet, block=_BOTTLENECK, depths=(3, 4, 6, 3)),
    "vgg16": _vgg16,
    "alexnet": _alexnet,
    "gpt2": partial(_transformer, tokens=_GPT2_TOKENS),
    "bert_base": partial(_transformer, tokens=384),
}


# The head's product is of every token, the pooler's of the first alone.
LEFT_OUT: Mapping[str, Sequence[LeftOut]] = {
    "gpt2": [LeftOut("lm_head", "MatMul", _GPT2_TOKENS * _WIDTH * _VOCABULARY, _AFTER)],
    "bert_base": [LeftOut("pooler", "MatMul", _WIDTH * _WIDTH, _AFTER)],
}
"""What comes after the layers of a network."""


@cache
def models() -> Mapping[str, tuple[Layer, ...]]:
    """Return the layers of every network, in the order in which they are executed."""
    networks = {model: _Network(model) for model in _WRITERS}
    for model, write in _WRITERS.items():
        write(networks[model])
    return {model: tuple(net.layers) for model, net in networks.items()}
