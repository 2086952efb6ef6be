"""``maestro-env pretrain``: train the mapper prior, or make its labels."""

from maestro_env.experiments.commands.pretrain.job import Config, execute

__all__ = ["Config", "execute"]
