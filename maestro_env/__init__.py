"""A gym for mapping DNN layers to accelerators.

Names are imported on first use, so that ``maestro-compat`` starts without numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from maestro_env.registration import register_with_gymnasium

__version__ = "0.1.0"

_HOME = {
    "CONTEXT": "context",
    "Cost": "cost",
    "Evaluator": "evaluator",
    "Hardware": "hardware",
    "KnownOptimum": "optima",
    "Layer": "layer",
    "Level": "mapping",
    "Loop": "mapping",
    "MaestroEnv": "env",
    "MaestroEnvError": "errors",
    "MaestroVectorEnv": "vector",
    "MapSpace": "map_space",
    "Mapping": "mapping",
    "NOT_EVALUATED": "information",
    "Problem": "problem",
    "STATUSES": "problem",
    "find_hardware": "hardware",
    "find_layer": "workloads",
    "find_objective": "objectives",
    "known_optimum": "optima",
    "parallel_env": "parallel",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'maestro_env' has no attribute '{name}'")
    return getattr(import_module(f"maestro_env.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__


register_with_gymnasium()
