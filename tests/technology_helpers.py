"""Draws technologies."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from maestro_env.accelerators.technologies import DEFAULT, TECHNOLOGIES
from maestro_env.accelerators.technology import Technology


def random_technology(rng: Random) -> Technology:
    """Draw energies that are free, alike or far apart, of which none depends on a size; areas."""

    def price() -> float:
        return rng.choice((0, 1, 2.5, rng.uniform(0, 50), 1000))

    areas = {}
    if rng.random() < 0.5:
        names = ("mac_um2", "register_um2", "sram_um2")
        areas = {name: rng.choice((0.3, 50.0, 4000.0)) for name in names}
    return Technology("drawn", rng.choice((0.00023, 0.0013, 3)), price(), price(), price(), **areas)


drawn_technologies = st.one_of(
    st.sampled_from([DEFAULT, TECHNOLOGIES["eyeriss"]]),
    st.randoms(use_true_random=False).map(random_technology),
)
"""No off-chip energy but that of ``eyeriss``."""
