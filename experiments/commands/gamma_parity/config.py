"""The flags of ``maestro-env gamma-parity``."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class ParityConfig:
    """Search as GAMMA's program did and compare with what it found; status 1 if any is worse."""

    mapper: str = option("gamma", "what searches, settings behind it, as in gamma:mutations=2")
    seeds: int = option(10, "searches a layer and objective, one a seed", least=1, most=10_000)
    seed: int = option(0, "the first seed; the others count up from it")
