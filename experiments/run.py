"""``python -m experiments.run`` is ``maestro-env run``."""

from maestro_env.experiments.shell import cli

if __name__ == "__main__":
    cli.start("run")
