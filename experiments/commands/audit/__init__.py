"""``maestro-env audit``: score a run's best mappings under both cost models."""
