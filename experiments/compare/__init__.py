"""``python -m experiments.compare``: compare mappers over layers, objectives and seeds."""
