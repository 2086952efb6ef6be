"""``maestro-env run``: search mappings of one layer; write the best one, traces and a plot."""
