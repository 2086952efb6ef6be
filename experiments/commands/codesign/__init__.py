"""``maestro-env codesign``: find the accelerators of a grid that suit networks best."""

from maestro_env.experiments.commands.codesign.flags import Config
from maestro_env.experiments.commands.codesign.job import execute

__all__ = ["Config", "execute"]
