"""How agents that learn values do so; MAST and its parts are settings."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.base.errors import UnknownNameError
from maestro_env.mappers.papers.sparse_networks import SparseNetworks
from maestro_env.mappers.papers.stacked_networks import Networks

WORTHS = ("max", "soft_mellowmax")
"""Worth of a next state: the largest value, or Soft Mellowmax."""
GROWTHS = ("none", "random", "gradient")
"""Which links grow where others are dropped: none, as masks stay (static sparsity), random ones
(SET), or those of the steepest gradients (RigL)."""
KERNELS = {"dense": Networks, "sparse": SparseNetworks}
"""What computes layers: products of whole matrices, zeros too, or of the weights that exist."""


@dataclass(frozen=True)
class Settings:
    """How agents learn.

    The defaults are MAST's as far as they are published, with networks of 95 % sparsity.

    Args:
        updates: of the whole training: links move less and less, and the trace begins, by it.
        hidden: ReLUs of each hidden layer of an agent.
        embedding: width of QMIX's mixer and of the hidden layer of its hypernetworks.
        rate: learning rate of Adam.
        discount: weight of the next step's value.
        clip: largest norm of the gradient of one agent's network, or of one hypernetwork.
        copy: updates between two copies of the networks to their targets.
        worth: of a next state, one of ``WORTHS``.
        alpha: of Soft Mellowmax: 0 weighs all choices alike.
        omega: of Soft Mellowmax: the larger, the nearer the maximum.
        trace: lambda of TD(lambda); 0 for one-step targets throughout.
        one_step: share of the training before the trace, with one-step targets.
        density: share of the weights of all matrices that exist; 1 is a dense network.
        growth: one of ``GROWTHS``.
        interval: updates between two changes of links; a change takes the place of an update.
        share: of the links that change at first; it falls to 0 along a cosine.
        kernels: one of ``KERNELS``.

    Raises:
        UnknownNameError: no such worth or growth.
    """

    updates: int
    hidden: tuple[int, ...] = (128, 128)
    embedding: int = 32
    rate: float = 5e-4
    discount: float = 0.95
    clip: float = 10.0
    copy: int = 200
    worth: str = "soft_mellowmax"
    alpha: float = 1.0
    omega: float = 10.0
    trace: float = 0.8
    one_step: float = 3 / 8
    density: float = 0.05
    growth: str = "gradient"
    interval: int = 200
    share: float = 0.5
    kernels: str = "dense"

    def __post_init__(self) -> None:
        for what, name, allowed in (
            ("worth of a next state", self.worth, WORTHS),
            ("growth of links", self.growth, GROWTHS),
            ("kernels", self.kernels, tuple(KERNELS)),
        ):
            if name not in allowed:
                raise UnknownNameError(what, name, allowed)

    @property
    def moving(self) -> bool:
        """Whether links move."""
        return self.density < 1 and self.growth != "none"
