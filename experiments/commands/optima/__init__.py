"""``maestro-env optima``: prove the optima of many layers and keep them in a table."""

from experiments.commands.optima.flags import Config
from experiments.commands.optima.job import execute

__all__ = ["Config", "execute"]
