"""Starts ``python -m experiments.audit``."""

from experiments import cli

main = cli.command("experiments.audit")

if __name__ == "__main__":
    cli.end(main())
