"""``maestro-env pretrain``: train the prior, score mappers on problems held out of training."""

from experiments.commands.pretrain.flags import Config
from experiments.commands.pretrain.job import execute

__all__ = ["Config", "execute"]
