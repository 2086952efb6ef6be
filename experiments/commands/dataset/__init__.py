"""``maestro-env dataset``: write mappings with all figures as Parquet files."""

from maestro_env.experiments.commands.dataset.flags import Config
from maestro_env.experiments.shell import cli


def execute(config: Config) -> int:
    """Do what the flags ask and return the exit status."""
    with cli.importing():
        from maestro_env.experiments.commands.dataset import writer  # It needs an extra.
    return writer.execute(config)
