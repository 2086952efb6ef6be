"""``maestro-env pretrain``: train the mapper prior, or make its labels."""

from experiments.commands.pretrain.flags import Config
from experiments.commands.pretrain.job import execute

__all__ = ["Config", "execute"]
