"""The flags of ``maestro-env map``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.search.goals import RAY_HELP, ProblemConfig
from experiments.shell.flags import option


@dataclass(frozen=True)
class _Network:
    """The flags that say what is mapped and how."""

    network: str = option(
        MISSING, "a network such as resnet50, or a file: .onnx, .m, .csv or .yaml (docs/howto.md)"
    )
    dim: str | None = option(
        None, "numbers of dimensions that the file leaves open: batch=1,tokens=128"
    )
    objective: str = option("edp", "what to minimise: latency, energy, edp")
    mapper: str | None = option(
        None, "mapper of every layer (default: marl, then the proof of the optimum within --nodes)"
    )
    samples: int = option(500, "evaluations of one layer's search", least=1)
    nodes: int = option(1_000_000, "boxes of mappings that a proof may take; 0: prove nothing")
    front: int = option(
        500, "evaluations for latency and for energy, each, that a choice for the network needs"
    )
    warm: bool = option(True, "start no search from the mappings of similar layers")
    library: str | None = option(
        None, "file of mapped layers to start from and to add to; cache: the user's own"
    )
    seed: int = option(0, "of all searches")


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class MapConfig(ProblemConfig, _Network):
    """Map every distinct layer of a network; print its latency, energy, EDP and area."""

    threads: int = option(1, "threads of the batch evaluation", least=1, most=1024)
    jobs: int = option(1, "layers at a time, each in a process of its own", least=1, most=1024)
    ray: str | None = option(None, RAY_HELP, value="address")
    out: str | None = option(
        None, "where to write (default: a new directory below runs/)", value="directory"
    )
    resume: bool = option(False, "continue what is in --out, or join processes that work on it")
