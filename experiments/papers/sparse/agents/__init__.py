"""``maestro-env sparse agents``: arms, trainings of each kind, tables."""
