"""Finds networks: in the zoo, or in a file of one of many formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from maestro_env.base.checks import plain_integer, require_type
from maestro_env.base.csv_rows import read_rows
from maestro_env.base.errors import (
    LayerError,
    MissingExtraError,
    NetworkError,
    close_matches,
    quoted,
)
from maestro_env.workloads.files.gamma_csv import read_gamma_csv
from maestro_env.workloads.files.m_network import read_m_network
from maestro_env.workloads.files.scalesim_csv import is_scalesim, read_scalesim_csv
from maestro_env.workloads.network import Network, gather
from maestro_env.workloads.zoo import models

_PICKLES = (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pt2", ".pth", ".safetensors", ".zip")


def find_network(text: str | Network, dims: Mapping[str, int] | None = None) -> Network:
    """Return the network a text names, or the network itself.

    Args:
        text: a network of the zoo (``resnet50``), or a file by its ending: ``.onnx`` (needs the
            extra ``onnx``), ``.m`` (MAESTRO), ``.csv`` (GAMMA or SCALE-Sim), ``.yaml`` (a problem
            of Timeloop, or a workload of AccelForge).
        dims: a number for every symbolic dimension of an ONNX file, such as ``{"batch": 1}``.

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
    if dims and ending != ".onnx":
        raise NetworkError(f"{quoted(text)} has no open dimensions; only ONNX files have")
    if ending == ".onnx":
        return _read_onnx(text, dims)
    if ending in _READERS:
        try:
            return _READERS[ending](text)
        except LayerError as error:
            raise NetworkError(str(error)) from None
    if ending in _PICKLES:
        raise NetworkError(
            f"{quoted(text)}: such a file may hold code and is not opened; export the model to "
            "ONNX, or use from_torch(module, example_inputs)"
        )
    zoo = models()
    if text not in zoo:
        endings = ", ".join(f"FILE{each}" for each in (".onnx", *_READERS))
        raise NetworkError(
            f"unknown network {quoted(text)}: {close_matches(text.lower(), zoo)}"
            f"allowed: {', '.join(zoo)}, {endings}"
        )
    return gather(text, zoo[text])


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


def _read_onnx(path: str, dims: Mapping[str, int] | None) -> Network:
    try:
        from maestro_env.workloads.files.onnx_network import read_onnx
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading an ONNX file", str(error.name), "onnx") from error
    return read_onnx(path, dims)


def _read_csv(path: str) -> Network:
    rows = read_rows(path)
    if rows and is_scalesim(rows[0][1]):
        return read_scalesim_csv(path)
    return gather(Path(path).stem, read_gamma_csv(path))


def _read_yaml(path: str) -> Network:
    from maestro_env.base.yaml_file import read_yaml_file
    from maestro_env.workloads.files.accelforge import workload_network
    from maestro_env.workloads.files.timeloop import problem_network

    name = Path(path).stem
    # What is left out is said alike wherever the file lies.
    root = replace(read_yaml_file(path, LayerError), source=Path(path).name)
    if "problem" in root:
        return problem_network(root["problem"], name)
    if "workload" in root:
        return workload_network(root["workload"], name)
    raise root.error("neither a problem (Timeloop) nor a workload (AccelForge)")


_READERS: Mapping[str, Callable[[str], Network]] = {
    ".m": read_m_network,
    ".csv": _read_csv,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
