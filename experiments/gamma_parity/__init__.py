"""``python -m experiments.gamma_parity``: whether mapper gamma is as good as GAMMA's program."""
