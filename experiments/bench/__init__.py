"""``python -m experiments.bench``: how fast mappings are evaluated on this machine."""
