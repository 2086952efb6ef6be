"""``maestro-env pretrain``: score mappers on problems that training has not seen."""

from experiments.commands.pretrain.flags import Config
from experiments.commands.pretrain.job import execute

__all__ = ["Config", "execute"]
