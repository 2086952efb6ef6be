"""``python -m experiments.optima``: the table of known optima."""
