"""``python -m experiments.run``: search mappings of one layer and record what was found."""
