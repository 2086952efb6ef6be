"""The settings of the multi-agent mappers: their groups, and agents that learn by PPO."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.clustering import LINKAGES, MEASURES
from maestro_env.evaluation.rewards import REWARDS
from maestro_env.mappers.base import StartConfig
from maestro_env.mappers.parts.draws import DRAWS
from maestro_env.mappers.settings import setting

GROUPINGS = ("clustered", "reversed", "random")
"""How parameters are grouped: dependent ones together, dependent ones apart, or at random."""


@dataclass(frozen=True)
class GroupConfig(StartConfig):
    """Which parameters share an agent."""

    agents: int = setting(0, "number of agents; 0 is one per parameter", most=1000)
    grouping: str = setting("clustered", "which parameters share an agent", allowed=GROUPINGS)
    groups: str = setting("", "JSON file of groups to use instead of learning them")
    warm_up: int = setting(20_000, "random samples that groups are learnt from", least=1)
    measure: str = setting("pearson", "measure of dependence between parameters", allowed=MEASURES)
    linkage: str = setting("ward_rows", "linkage of the clustering", allowed=LINKAGES)


@dataclass(frozen=True)
class MarlConfig(GroupConfig):
    """Parameters of the agents and of their grouping."""

    policy: str = setting("stateless", "policy of every agent", allowed=("stateless", "mlp"))
    backend: str = setting("torch", "what computes networks (mlp)", allowed=("torch", "fused"))
    batch: int = setting(16, "samples between two updates", least=1, most=100_000)
    epochs: int = setting(4, "gradient steps of an update", least=1, most=1000)
    rate: float = setting(0.1, "learning rate of Adam", most=1)
    clip: float = setting(0.4, "bound of PPO's ratio around 1", most=10)
    entropy: float = setting(0.0, "weight of the entropy bonus", most=100)
    exploration: float = setting(0.1, "chance per parameter of an action off the policy", most=1)
    local: float = setting(0.7, "share of such actions of sizes that are small steps", most=1)
    imitation: float = setting(1.0, "weight of the pull towards the best samples", most=100)
    memory: int = setting(16, "best samples that agents remember", least=1, most=10_000)
    refinement: float = setting(0.35, "share of samples that are variants of the best", most=0.95)
    pairs: float = setting(0.6, "share of variants in which two sizes move", most=1)
    reward: str = setting("inverse", "reward of a mapping", allowed=REWARDS)
    draw: str = setting("log", "initial distribution", allowed=DRAWS)
    patience: int = setting(500, "samples without a gain before a new team starts; 0 is never")
    keep: float = setting(0.5, "chance that a new agent favours its part of the best", most=1)
