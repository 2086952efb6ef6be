"""Reads networks of MAESTRO's mapping files (``.m``); a dataflow in the file is passed over."""

from __future__ import annotations

import re
from pathlib import Path

from maestro_env.base.errors import LayerError, NetworkError, quoted
from maestro_env.base.m_file import LayerText, ReferenceDeath, parse
from maestro_env.base.reading import read_or_refuse
from maestro_env.workloads.layer import DIMENSIONS, Layer, short_name
from maestro_env.workloads.network import Network, common_batch, gather

_MAX_CHARACTERS = 2**24
_NEGATIVE = re.compile(r"[:\s]-\s*[0-9]\w*")
_WINDOWS = {"Y": "R", "X": "S"}
_TRANSPOSED = "TRCONV: computed as CONV by the cost model maestro, refused by exact"


def read_m_network(path: str | Path) -> Network:
    """Read the network of a ``.m`` file; Y and X are taken as written, as MAESTRO does.

    Raises:
        NetworkError: naming the file, and the line or the layer at fault.
    """
    path = Path(path)
    text = read_or_refuse(path, _MAX_CHARACTERS, NetworkError)
    for number, line in enumerate(text.splitlines(), start=1):
        if negative := _NEGATIVE.search(line.partition("//")[0]):
            problem = f"{quoted(negative[0].strip())} has a sign; allowed: integers without one"
            raise NetworkError(f"{path} cannot be read as a network: line {number}: {problem}")
    try:
        layers = [layer_in_m(each) for each in parse(text, as_network=True).layers]
    except (ReferenceDeath, LayerError) as error:
        raise NetworkError(f"{path} cannot be read as a network: {error}") from None
    transposed = any(layer.operator == "TRCONV" for layer in layers)
    batch = common_batch(each.extents.get("N", 1) for each in layers if each.is_convolution)
    return gather(path.stem, layers, notes=[_TRANSPOSED] * transposed, batch=batch)


def layer_in_m(text: LayerText) -> Layer:
    """Return the layer that a file describes.

    Raises:
        LayerError: naming it.
    """
    name = short_name(text.name)
    extents, strides = dict(text.extents), dict(text.strides)
    stride = (strides.get("Y", 1), strides.get("X", 1))
    for (axis, window), step in zip(_WINDOWS.items(), stride, strict=True):
        outputs = extents.pop(f"{axis}'", None)
        if outputs is not None:
            extents[axis] = (outputs - 1) * step + extents.get(window, 1)
    needed = DIMENSIONS[text.operator]
    # MAESTRO's own files write K: 1 in depthwise layers.
    kept = {dim: size for dim, size in extents.items() if dim in needed or dim == "N" or size != 1}
    if kept.get("N") == 1 and "N" not in needed:
        del kept["N"]
    try:
        return Layer(text.operator, kept, stride if "Y" in needed else (1, 1), name)
    except LayerError as error:
        raise LayerError(f"layer {name}: {error}") from None
