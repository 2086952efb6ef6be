"""Starts ``python -m experiments.compare``."""

from experiments import cli

main = cli.command("experiments.compare")

if __name__ == "__main__":
    cli.end(main())
