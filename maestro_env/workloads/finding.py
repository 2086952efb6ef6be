"""Finds layers and networks: in the zoo, from a text, or in a file by the ending of its name.

What reads a kind of files is imported where one is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from maestro_env.base.checks import plain_integer, require_type
from maestro_env.base.errors import (
    LayerError,
    MissingExtraError,
    NetworkError,
    close_matches,
    quoted,
)
from maestro_env.workloads.layer import EXAMPLES as EXAMPLES
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.layer import parse_layer as parse_layer
from maestro_env.workloads.network import Network, gather
from maestro_env.workloads.zoo import LEFT_OUT
from maestro_env.workloads.zoo import models as models

# The name of a layer that is written out may look like a file's.
_CSV_ROW = re.compile(
    r"(?P<path>(?:(?!,\s*name=).)+\.csv)(?::(?P<row>.*))?", re.IGNORECASE | re.DOTALL
)
_UNDEFINED = re.compile(r"as a Jinja template: '(\w+)' is undefined$")
_PICKLES = (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pt2", ".pth", ".safetensors", ".zip")


def all_layers() -> tuple[Layer, ...]:
    """Return every layer of the zoo, network by network."""
    return tuple(layer for layers in models().values() for layer in layers)


def layers_by_name() -> dict[str, Layer]:
    """Return every layer of the zoo by its name."""
    return {layer.name: layer for layer in all_layers()}


def find_layer(text: str | Layer) -> Layer:
    """Return the layer a text names, or the layer itself.

    Args:
        text: a name from the zoo (``mobilenetv2_l2``), a layer written out (``gemm:M=1,N=8,K=8``),
            or a row of a file of GAMMA or SCALE-Sim, counted from 0 (``nets/mine.csv:3``); a file
            with one layer needs no row.

    Raises:
        ArgumentTypeError: neither a text nor a ``Layer``.
        LayerError: the text names no layer, or one that cannot be computed.
    """
    if isinstance(text, Layer):
        return text
    require_type("layer", text, str, f"such as mobilenetv2_l2 or {EXAMPLES}, or a Layer")
    if match := _CSV_ROW.fullmatch(text):
        from maestro_env.workloads.files.csv_files import read_csv_layers

        return _pick(read_csv_layers(match["path"]), text, match["row"])
    if ":" not in text:
        if text not in (zoo := layers_by_name()):
            raise _unknown_layer(text, zoo)
        return zoo[text]
    return parse_layer(text)


def _unknown_layer(text: str, zoo: Mapping[str, Layer]) -> LayerError:
    lower, near = text.lower(), close_matches(text.lower(), zoo)
    for network, (first, *_, last) in models().items():
        if not f"{lower}_".startswith(f"{network}_"):
            continue
        what = "is a network: " if lower == network else f"has no layer {quoted(text)}: {near}"
        return LayerError(
            f"{network} {what}its layers are {first.name} to {last.name}, which `maestro-env "
            f"layers --network {network}` lists; "
            f"`maestro-env map {network} --hardware NAME` maps all of them"
        )
    return LayerError(
        f"unknown layer {quoted(text)}: {near}allowed: a name that `maestro-env layers` prints, "
        f"FILE.csv:ROW, or {EXAMPLES}"
    )


def _pick(layers: Sequence[Layer], text: str, row: str | None) -> Layer:
    rows = {str(index): layer for index, layer in enumerate(layers)}
    if row is None and len(layers) == 1:
        return layers[0]
    if row not in rows:
        raise LayerError(f"{text!r} names no row; allowed: FILE.csv:0 to FILE.csv:{len(rows) - 1}")
    return rows[row]


def find_network(text: str | Network, dims: Mapping[str, int] | None = None) -> Network:
    """Return the network a text names, or the network itself.

    Args:
        text: a network of the zoo (``resnet50``), or a file by its ending: ``.onnx`` (needs the
            extra ``onnx``), ``.m`` (MAESTRO), ``.csv`` (GAMMA or SCALE-Sim), ``.yaml`` (a problem
            of Timeloop, a workload of AccelForge, or layers of ZigZag).
        dims: a number for every symbolic dimension of an ONNX file, such as ``{"batch": 1}``, or
            for every name that stands for one in a topology of SCALE-Sim or a template.

    Raises:
        ArgumentTypeError: neither a text nor a ``Network``.
        NetworkError: the text names no network, or one that cannot be read.
        MissingExtraError: a file that needs an extra.
    """
    if isinstance(text, Network):
        return text
    require_type("network", text, str, "such as resnet50 or FILE.onnx, or a Network")
    require_type("dims", {} if dims is None else dims, Mapping, "such as {'batch': 1}")
    ending = Path(text).suffix.lower()
    if dims and ending not in (".onnx", ".csv", ".yaml", ".yml"):
        raise NetworkError(
            f"{quoted(text)} has no open dimensions; only ONNX files, topologies and templates have"
        )
    if ending in _READERS:
        try:
            return _READERS[ending](text, dims)
        except LayerError as error:
            raise NetworkError(str(error)) from None
    if ending in _PICKLES:
        raise NetworkError(
            f"{quoted(text)}: such a file may hold code and is not opened; export the model to "
            "ONNX, or use from_torch(module, example_inputs)"
        )
    zoo = models()
    if text not in zoo:
        endings = ", ".join(f"FILE{each}" for each in _READERS)
        raise NetworkError(
            f"unknown network {quoted(text)}: {close_matches(text.lower(), zoo)}"
            f"allowed: {', '.join(zoo)}, {endings}"
        )
    return gather(text, zoo[text], LEFT_OUT.get(text, ()))


def parse_dims(text: str) -> dict[str, int]:
    """Read numbers of dimensions, such as ``batch=1,tokens=128``; an empty text has none."""
    dims: dict[str, int] = {}
    for piece in filter(None, text.split(",")):
        name, equals, value = piece.rpartition("=")
        number = plain_integer(value)
        if not name or not equals or number is None or name in dims:
            raise NetworkError(
                f"{quoted(piece)} gives no dimension its number; write them like batch=1,tokens=128"
            )
        dims[name] = number
    return dims


Dims = Mapping[str, int] | None


def _read_onnx(path: str, dims: Dims) -> Network:
    try:
        from maestro_env.workloads.files.onnx_network import read_onnx
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading an ONNX file", str(error.name), "onnx") from error
    return read_onnx(path, dims)


def _read_m(path: str, _: Dims) -> Network:
    from maestro_env.workloads.files.m_network import read_m_network

    return read_m_network(path)


def _read_csv(path: str, dims: Dims) -> Network:
    from maestro_env.workloads.files.csv_files import read_csv_network

    return read_csv_network(path, dims)


def _read_yaml(path: str, dims: Dims) -> Network:
    from maestro_env.base.yaml_blocks import YamlBlock
    from maestro_env.base.yaml_file import kind_of, read_yaml_file
    from maestro_env.workloads.files.accelforge import workload_network
    from maestro_env.workloads.files.timeloop import problem_network
    from maestro_env.workloads.files.zigzag import is_workload, layers_network

    name = Path(path).stem
    try:
        root = read_yaml_file(path, LayerError, given=dims)
    except LayerError as error:
        if unknown := _UNDEFINED.search(str(error)):
            raise LayerError(f"{error}; give its number, such as --dim {unknown[1]}=1") from None
        raise
    # What is left out is said alike wherever the file lies.
    root = replace(root, source=Path(path).name)
    readers = {"problem": problem_network, "workload": workload_network}
    if is_workload(root):
        network = layers_network(root, name)
    elif isinstance(root.value, YamlBlock) and (key := root.one_of(*readers)) in root:
        network = readers[key](root[key], name)
    else:
        raise root.error(
            "neither a problem (Timeloop), a workload (AccelForge) nor layers (ZigZag)"
            f"{kind_of(root)}"
        )
    return replace(network, notes=(*network.notes, *root.notes))


_READERS: Mapping[str, Callable[[str, Dims], Network]] = {
    ".onnx": _read_onnx,
    ".m": _read_m,
    ".csv": _read_csv,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
