"""``python -m experiments.audit RUNDIR``: whether a run's best mappings are real."""
