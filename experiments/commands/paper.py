"""``maestro-env paper``: make the tables and figures of the paper."""

from experiments.paper.config import PaperConfig as Config
from experiments.shell import cli


def execute(config: Config) -> int:
    """Do what the flags ask and return the exit status."""
    with cli.importing():
        from experiments.paper import job
    return job.execute(config)
