"""``maestro-env pretrain``: train the mapper prior, or make its labels."""

from maestro_env.experiments.commands.pretrain.flags import Config
from maestro_env.experiments.commands.pretrain.job import execute

__all__ = ["Config", "execute"]
