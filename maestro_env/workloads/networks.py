"""Finds networks: in the zoo, or in a file."""

from __future__ import annotations

from collections.abc import Mapping

from maestro_env.checks import require_type
from maestro_env.errors import NetworkError, close_matches, quoted
from maestro_env.workloads.network import Network, gather
from maestro_env.workloads.zoo import models


def find_network(text: str | Network, dims: Mapping[str, int] | None = None) -> Network:
    """Return the network a text names, or the network itself.

    Args:
        text: a network of the zoo (``resnet50``).
        dims: a number for every symbolic dimension of the file, such as ``{"batch": 1}``.

    Raises:
        ArgumentTypeError: neither a text nor a ``Network``.
        NetworkError: the text names no network, or one that cannot be read.
    """
    if isinstance(text, Network):
        return text
    require_type("network", text, str, "such as resnet50 or FILE.onnx, or a Network")
    zoo = models()
    if text not in zoo:
        raise NetworkError(
            f"unknown network {quoted(text)}: {close_matches(text, zoo)}allowed: {', '.join(zoo)}"
        )
    return gather(text, zoo[text])
