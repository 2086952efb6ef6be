"""``python -m experiments.exhaustive``: the true optimum of a restricted map space."""
