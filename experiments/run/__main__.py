"""Starts ``python -m experiments.run``."""

from experiments import cli

main = cli.command("experiments.run")

if __name__ == "__main__":
    cli.end(main())
