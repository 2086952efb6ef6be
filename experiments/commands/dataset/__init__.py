"""``maestro-env dataset``: write mappings with all figures as Parquet files."""

from experiments.commands.dataset.flags import Config
from experiments.shell import cli


def execute(config: Config) -> int:
    """Do what the flags ask and return the exit status."""
    with cli.importing():
        from experiments.commands.dataset import job  # It needs an extra.
    return job.execute(config)
