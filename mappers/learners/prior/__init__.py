"""The training of a prior, whose proposals are in ``maestro_env.prior``."""
