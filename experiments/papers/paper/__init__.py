"""``maestro-env paper``: make the tables and figures of the paper."""

from maestro_env.experiments.papers.paper.config import PaperConfig as Config
from maestro_env.experiments.shell import cli


def execute(config: Config) -> int:
    """Do what the flags ask and return the exit status."""
    with cli.importing():
        from maestro_env.experiments.papers.paper import job
    return job.execute(config)
