"""The mappers of the paper, and Table III as it prints it (its units are not given)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MARL = "marl"
PAPERS = ("random", "bo", "ga", "gamma", "ppo")
"""The paper's other mappers."""
CONTROLS = ("random_log", "ga_log", "pbil", "marl:agents=1")
"""They tell where a lead of MARL comes from."""
PERCENTS = (5, 2, 1)
"""Above the best known is near it."""


@dataclass(frozen=True)
class Printed:
    """A network and an objective.

    Args:
        marl: what MARL reached.
        others: what each other mapper reached, and the ratio to MARL's that is printed beside it.
    """

    marl: float
    others: Mapping[str, tuple[float, float]]

    def recomputed(self, mapper: str) -> float:
        """Return the ratio of the printed values."""
        return self.others[mapper][0] / self.marl

    def beside(self, mapper: str) -> tuple[object, object]:
        """Return the printed ratio and that of the values, as columns of a file."""
        if mapper not in self.others:
            return "", ""
        return self.others[mapper][1], f"{self.recomputed(mapper):.6g}"


def _printed(marl: float, *others: tuple[float, float]) -> Printed:
    return Printed(marl, dict(zip(PAPERS, others, strict=True)))


# Random walker, Bayesian optimisation, genetic algorithm, GAMMA, PPO.
TABLE_3 = {
    ("mobilenetv2", "latency"): _printed(
        6.56e-05, (2.00e-04, 3.05), (1.31e-04, 1.99), (8.73e-05, 1.33), (7.55e-05, 1.15),
        (6.22e-04, 9.48),
    ),
    ("mobilenetv2", "edp"): _printed(
        1.00e-05, (1.00e-04, 10.00), (3.33e-05, 3.33), (2.50e-05, 2.50), (1.54e-05, 0.15),
        (1.95e-04, 1.95),
    ),
    ("vgg16", "latency"): _printed(
        7.25e-03, (2.94e-02, 4.06), (1.08e-02, 1.48), (9.26e-03, 1.28), (8.26e-03, 1.14),
        (2.36e-01, 32.61),
    ),
    ("vgg16", "edp"): _printed(
        1.22e-03, (7.87e-03, 6.48), (2.01e-03, 1.65), (1.49e-03, 1.22), (1.41e-03, 1.16),
        (2.00e-02, 16.45),
    ),
}  # fmt: skip
"""By network, the first part of its layers' names, and objective."""
