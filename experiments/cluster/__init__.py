"""``python -m experiments.cluster``: learn from samples which parameters share an agent."""
