"""``maestro-env sweep``: search layers x hardware x objectives x mappers x seeds of a file."""

from maestro_env.experiments.commands.sweep.job import Config, execute

__all__ = ["Config", "execute"]
