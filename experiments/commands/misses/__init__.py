"""``maestro-env misses``: say what a run's best mappings lack to be optima."""
