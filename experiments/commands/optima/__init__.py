"""``maestro-env optima``: prove the optima of many layers and keep them in a table."""

from maestro_env.experiments.commands.optima.flags import Config
from maestro_env.experiments.commands.optima.job import execute

__all__ = ["Config", "execute"]
