"""``python -m experiments.misses RUNDIR``: what a run's best mappings lack to be optima."""
