"""``python -m experiments.paper``: the tables and figures of the paper, one file each."""
