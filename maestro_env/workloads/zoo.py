"""Networks layer by layer, at batch 1: five CNNs as torchvision runs them, two transformer layers.

A layer is called ``<model>_l<i>``; ``i`` counts convolutions and linear layers from 0 in the order
of their execution, so a residual block's downsampling shortcut follows its last convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

from maestro_env.layer import Layer

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
        """Append a convolution; unless told otherwise, it is padded by half its window."""
        padding = window // 2 if padding is None else padding
        self._slide("CONV", {"K": outputs, "C": self.shape[0]}, window, stride, padding)
        self.shape = (outputs, self.shape[1])

    def depthwise(self, window: int, stride: int) -> None:
        """Append a depthwise convolution, padded by half its window."""
        self._slide("DSCONV", {"C": self.shape[0]}, window, stride, window // 2)

    def max_pool(self, window: int, padding: int = 0) -> None:
        """Halve the feature map."""
        channels, size = self.shape
        self.shape = (channels, _outputs(size + 2 * padding, window, stride=2))

    def average_pool(self) -> None:
        """Average the whole feature map, channel by channel."""
        self.shape = (self.shape[0], 1)

    def linear(self, outputs: int) -> None:
        """Append a linear layer over the flattened feature map."""
        channels, size = self.shape
        self.gemm(1, outputs, channels * size * size)
        self.shape = (outputs, 1)

    def gemm(self, rows: int, outputs: int, inputs: int, count: int = 1) -> None:
        """Append a matrix product."""
        self._append("GEMM", {"M": rows, "N": outputs, "K": inputs}, count=count)

    def _slide(
        self, operator: str, channels: Mapping[str, int], window: int, stride: int, padding: int
    ) -> None:
        padded = self.shape[1] + 2 * padding
        extents = {**channels, "Y": padded, "X": padded, "R": window, "S": window}
        self._append(operator, extents, stride=stride)
        self.shape = (self.shape[0], _outputs(padded, window, stride))

    def _append(
        self, operator: str, extents: Mapping[str, int], stride: int = 1, count: int = 1
    ) -> None:
        name = f"{self._model}_l{len(self.layers)}"
        self.layers.append(Layer(operator, extents, (stride, stride), name, count))


def _outputs(padded: int, window: int, stride: int) -> int:
    return (padded - window) // stride + 1


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
    for outputs in (4096, 4096, _CLASSES):
        net.linear(outputs)


def _vgg16(net: _Network) -> None:
    """Simonyan and Zisserman (arXiv:1409.1556), table 1, configuration D.

    torchvision's adaptive pool to 7x7 finds 7x7 already, hence does nothing.
    """
    for outputs, repeats in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(repeats):
            net.conv(outputs, 3)
        net.max_pool(2)
    for outputs in (4096, 4096, _CLASSES):
        net.linear(outputs)


_Block = Callable[[_Network, int, int], None]


def _basic_block(net: _Network, width: int, stride: int) -> None:
    net.conv(width, 3, stride)
    net.conv(width, 3)


def _bottleneck(net: _Network, width: int, stride: int) -> None:
    # torchvision strides the 3x3 convolution; the paper strides the first 1x1.
    net.conv(width, 1)
    net.conv(width, 3, stride)
    net.conv(4 * width, 1)


def _resnet(net: _Network, block: _Block, depths: tuple[int, ...]) -> None:
    """He et al. (arXiv:1512.03385), table 1."""
    net.conv(64, 7, stride=2)
    net.max_pool(3, padding=1)
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if stage > 0 and index == 0 else 1
            _residual(net, block, 64 * 2**stage, stride)
    net.average_pool()
    net.linear(_CLASSES)


def _residual(net: _Network, block: _Block, width: int, stride: int) -> None:
    entry = net.shape
    block(net, width, stride)
    if net.shape != entry:
        outputs = net.shape[0]
        # The shortcut starts where the block started and ends where it ended.
        net.shape = entry
        net.conv(outputs, 1, stride)


def _mobilenetv2(net: _Network) -> None:
    """Sandler et al. (arXiv:1801.04381), table 2: expansion t, channels c, repeats n, stride s."""
    net.conv(32, 3, stride=2)
    for t, c, n, s in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for index in range(n):
            _inverted_residual(net, t, c, s if index == 0 else 1)
    net.conv(1280, 1)
    net.average_pool()
    net.linear(_CLASSES)


def _inverted_residual(net: _Network, expansion: int, outputs: int, stride: int) -> None:
    if expansion > 1:
        net.conv(expansion * net.shape[0], 1)
    net.depthwise(3, stride)
    net.conv(outputs, 1)


def _transformer_layer(net: _Network, tokens: int) -> None:
    """GPT-2 small (Radford et al., 2019) and BERT base (arXiv:1810.04805) share these widths.

    The products are query-key-value, scores, context, projection, feed-forward up and down.
    """
    width, heads = 768, 12
    head_width = width // heads
    net.gemm(tokens, 3 * width, width)
    net.gemm(tokens, tokens, head_width, count=heads)
    net.gemm(tokens, head_width, tokens, count=heads)
    net.gemm(tokens, width, width)
    net.gemm(tokens, 4 * width, width)
    net.gemm(tokens, width, 4 * width)


_WRITERS: Mapping[str, Callable[[_Network], None]] = {
    "mobilenetv2": _mobilenetv2,
    "resnet18": partial(_resnet, block=_basic_block, depths=(2, 2, 2, 2)),
    "resnet50": partial(_resnet, block=_bottleneck, depths=(3, 4, 6, 3)),
    "vgg16": _vgg16,
    "alexnet": _alexnet,
    "gpt2": partial(_transformer_layer, tokens=1024),
    "bert_base": partial(_transformer_layer, tokens=384),
}


@cache
def models() -> Mapping[str, tuple[Layer, ...]]:
    """Return the layers of every network, in the order in which they are executed."""
    return MappingProxyType({model: _layers(model) for model in _WRITERS})


def _layers(model: str) -> tuple[Layer, ...]:
    net = _Network(model)
    _WRITERS[model](net)
    return tuple(net.layers)
