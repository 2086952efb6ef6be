"""The flags of ``maestro-env layers``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class LayersConfig:
    """List the layers that have a name, or those of a network, with their numbers of MACs."""

    network: str | None = option(
        None, "list those of one network, such as resnet18, or of a file, such as net.onnx"
    )
    dim: str | None = option(
        None, "numbers of dimensions that the file leaves open, such as batch=1,tokens=128"
    )
