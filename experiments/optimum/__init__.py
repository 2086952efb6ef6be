"""``python -m experiments.optimum``: the best mapping of a layer, proven to be."""
