"""``python -m experiments.optimum``: the best mapping of a layer, and the proof that none is better."""
