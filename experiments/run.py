"""``python -m experiments.run`` is ``maestro-env run``."""

from experiments.shell import cli

if __name__ == "__main__":
    cli.start("run")
