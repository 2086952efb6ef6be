"""``python -m experiments.tabulate``: tables of every vector of small spaces."""
