"""Starts ``python -m experiments.exhaustive``."""

from experiments import cli

main = cli.command("experiments.exhaustive")

if __name__ == "__main__":
    cli.end(main())
