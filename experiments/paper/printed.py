"""Table III as the paper prints it (its units are not given)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Printed:
    """A network and an objective.

    Args:
        values: what each mapper reached, by name; MARL's under ``marl``.
        ratios: to MARL's, as printed beside.
    """

    values: Mapping[str, float]
    ratios: Mapping[str, float]

    def recomputed(self, mapper: str) -> float:
        """Return the ratio that the printed values have."""
        return self.values[mapper] / self.values["marl"]


def _printed(marl: float, **mappers: tuple[float, float]) -> Printed:
    values = {name: value for name, (value, _) in mappers.items()}
    ratios = {name: ratio for name, (_, ratio) in mappers.items()}
    return Printed(MappingProxyType({**values, "marl": marl}), MappingProxyType(ratios))


TABLE_3: Mapping[tuple[str, str], Printed] = MappingProxyType(
    {
        ("mobilenetv2", "latency"): _printed(
            6.56e-05,
            random=(2.00e-04, 3.05),
            bo=(1.31e-04, 1.99),
            ga=(8.73e-05, 1.33),
            gamma=(7.55e-05, 1.15),
            ppo=(6.22e-04, 9.48),
        ),
        ("mobilenetv2", "edp"): _printed(
            1.00e-05,
            random=(1.00e-04, 10.00),
            bo=(3.33e-05, 3.33),
            ga=(2.50e-05, 2.50),
            gamma=(1.54e-05, 0.15),
            ppo=(1.95e-04, 1.95),
        ),
        ("vgg16", "latency"): _printed(
            7.25e-03,
            random=(2.94e-02, 4.06),
            bo=(1.08e-02, 1.48),
            ga=(9.26e-03, 1.28),
            gamma=(8.26e-03, 1.14),
            ppo=(2.36e-01, 32.61),
        ),
        ("vgg16", "edp"): _printed(
            1.22e-03,
            random=(7.87e-03, 6.48),
            bo=(2.01e-03, 1.65),
            ga=(1.49e-03, 1.22),
            gamma=(1.41e-03, 1.16),
            ppo=(2.00e-02, 16.45),
        ),
    }
)
"""By network, the first part of its layers' names, and objective."""
