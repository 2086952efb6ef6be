"""Starts ``python -m experiments.cluster``."""

from experiments import cli

main = cli.command("experiments.cluster")

if __name__ == "__main__":
    cli.end(main())
