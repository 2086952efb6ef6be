"""Starts ``python -m experiments.bench``."""

from experiments import cli

main = cli.command("experiments.bench")

if __name__ == "__main__":
    cli.end(main())
