"""A gym for mapping DNN layers to accelerators.

Names are imported on first use, so that ``maestro-compat`` starts without numpy. Type checkers read
the imports below.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from maestro_env.environments.named import register_with_gymnasium

if TYPE_CHECKING:
    from maestro_env.accelerators.finding import find_hardware as find_hardware
    from maestro_env.accelerators.hardware import PRESETS as PRESETS
    from maestro_env.accelerators.hardware import Hardware as Hardware
    from maestro_env.accelerators.technologies import TECHNOLOGIES as TECHNOLOGIES
    from maestro_env.accelerators.technologies import find_technology as find_technology
    from maestro_env.accelerators.technology import Technology as Technology
    from maestro_env.base.errors import ArgumentTypeError as ArgumentTypeError
    from maestro_env.base.errors import BudgetError as BudgetError
    from maestro_env.base.errors import BudgetExceededError as BudgetExceededError
    from maestro_env.base.errors import EnvError as EnvError
    from maestro_env.base.errors import HardwareError as HardwareError
    from maestro_env.base.errors import LayerError as LayerError
    from maestro_env.base.errors import MaestroEnvError as MaestroEnvError
    from maestro_env.base.errors import MappingError as MappingError
    from maestro_env.base.errors import MapSpaceError as MapSpaceError
    from maestro_env.base.errors import MissingExtraError as MissingExtraError
    from maestro_env.base.errors import ModelError as ModelError
    from maestro_env.base.errors import NetworkError as NetworkError
    from maestro_env.base.errors import TooLongError as TooLongError
    from maestro_env.base.errors import UnknownNameError as UnknownNameError
    from maestro_env.environments.constructing import MaestroConstructEnv as MaestroConstructEnv
    from maestro_env.environments.env import MaestroEnv as MaestroEnv
    from maestro_env.environments.improving import MaestroImproveEnv as MaestroImproveEnv
    from maestro_env.environments.information import NOT_EVALUATED as NOT_EVALUATED
    from maestro_env.environments.making import parallel_env as parallel_env
    from maestro_env.environments.making import parallel_improve_env as parallel_improve_env
    from maestro_env.environments.vector import MaestroVectorEnv as MaestroVectorEnv
    from maestro_env.evaluation.cost_and_status import METRICS as METRICS
    from maestro_env.evaluation.cost_and_status import STATUSES as STATUSES
    from maestro_env.evaluation.cost_and_status import Cost as Cost
    from maestro_env.evaluation.cost_and_status import Rows as Rows
    from maestro_env.evaluation.evaluator import Batch as Batch
    from maestro_env.evaluation.evaluator import Best as Best
    from maestro_env.evaluation.evaluator import Evaluator as Evaluator
    from maestro_env.evaluation.masks import Masks as Masks
    from maestro_env.evaluation.models import MODELS as MODELS
    from maestro_env.evaluation.models import CostModel as CostModel
    from maestro_env.evaluation.models import find_model as find_model
    from maestro_env.evaluation.objectives import OBJECTIVES as OBJECTIVES
    from maestro_env.evaluation.objectives import Objective as Objective
    from maestro_env.evaluation.objectives import ObjectiveFunction as ObjectiveFunction
    from maestro_env.evaluation.objectives import find_objective as find_objective
    from maestro_env.evaluation.observations_and_rewards import CONTEXT as CONTEXT
    from maestro_env.evaluation.problem import Problem as Problem
    from maestro_env.explanation import Explanation as Explanation
    from maestro_env.explanation import explain_mapping as explain_mapping
    from maestro_env.mapspace.mapping import Level as Level
    from maestro_env.mapspace.mapping import Loop as Loop
    from maestro_env.mapspace.mapping import Mapping as Mapping
    from maestro_env.mapspace.space import TILES as TILES
    from maestro_env.mapspace.space import Parameter as Parameter
    from maestro_env.mapspace.two_level_space import SCHEMAS as SCHEMAS
    from maestro_env.mapspace.two_level_space import MapSpace as MapSpace
    from maestro_env.mapspace.two_level_space import Schema as Schema
    from maestro_env.optimum.known import KnownOptimum as KnownOptimum
    from maestro_env.optimum.known import known_optimum as known_optimum
    from maestro_env.optimum.search import OptimumError as OptimumError
    from maestro_env.optimum.search import OptimumSearch as OptimumSearch
    from maestro_env.optimum.solving import Limits as Limits
    from maestro_env.optimum.solving import Solution as Solution
    from maestro_env.optimum.solving import solve as solve
    from maestro_env.workloads.finding import find_layer as find_layer
    from maestro_env.workloads.finding import find_network as find_network
    from maestro_env.workloads.layer import Layer as Layer
    from maestro_env.workloads.network import LeftOut as LeftOut
    from maestro_env.workloads.network import Network as Network

__version__ = "0.1.0"
"""The version of the package."""

# The public names of each module.
_NAMES = {
    "accelerators.finding": "find_hardware",
    "accelerators.hardware": "Hardware PRESETS",
    "accelerators.technologies": "TECHNOLOGIES find_technology",
    "accelerators.technology": "Technology",
    "base.errors": "ArgumentTypeError BudgetError BudgetExceededError EnvError HardwareError "
    "LayerError MaestroEnvError MapSpaceError MappingError MissingExtraError ModelError "
    "NetworkError TooLongError UnknownNameError",
    "environments.constructing": "MaestroConstructEnv",
    "environments.env": "MaestroEnv",
    "environments.improving": "MaestroImproveEnv",
    "environments.information": "NOT_EVALUATED",
    "environments.making": "parallel_env parallel_improve_env",
    "environments.vector": "MaestroVectorEnv",
    "evaluation.cost_and_status": "Cost METRICS Rows STATUSES",
    "evaluation.evaluator": "Batch Best Evaluator",
    "evaluation.masks": "Masks",
    "evaluation.models": "CostModel MODELS find_model",
    "evaluation.objectives": "OBJECTIVES Objective ObjectiveFunction find_objective",
    "evaluation.observations_and_rewards": "CONTEXT",
    "evaluation.problem": "Problem",
    "explanation": "Explanation explain_mapping",
    "mapspace.mapping": "Level Loop Mapping",
    "mapspace.space": "Parameter TILES",
    "mapspace.two_level_space": "MapSpace SCHEMAS Schema",
    "optimum.known": "KnownOptimum known_optimum",
    "optimum.search": "OptimumError OptimumSearch",
    "optimum.solving": "Limits Solution solve",
    "workloads.finding": "find_layer find_network",
    "workloads.layer": "Layer",
    "workloads.network": "LeftOut Network",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

# "import *" must not ask for an extra.
__all__ = sorted({*_HOME, "__version__"} - {"parallel_env", "parallel_improve_env"})


if not TYPE_CHECKING:  # Or any name would have a type.

    def __getattr__(name: str) -> object:
        if name == "_native":
            return _import_core()
        if name not in _HOME:
            raise AttributeError(f"module 'maestro_env' has no attribute '{name}'")
        return getattr(import_module(f"maestro_env.{_HOME[name]}"), name)


def _import_core() -> object:
    """Import the C++ core; in a clone where it is not built, say how to build it."""
    try:
        return import_module("maestro_env._native")
    except ModuleNotFoundError:
        folder = Path(__file__).parents[1]
        raise ImportError(
            f"the C++ core of maestro-env is not built in {folder}: run 'pip install -e .' there, "
            "or start Python in another folder to use an installed maestro-env"
        ) from None


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])


register_with_gymnasium()
