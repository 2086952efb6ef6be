"""``maestro-env codesign``: find the accelerators of a grid that suit networks best."""

from experiments.commands.codesign.flags import Config
from experiments.commands.codesign.job import execute

__all__ = ["Config", "execute"]
