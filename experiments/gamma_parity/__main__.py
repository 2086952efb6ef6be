"""Starts ``python -m experiments.gamma_parity``."""

from experiments import cli

main = cli.command("experiments.gamma_parity")

if __name__ == "__main__":
    cli.end(main())
