"""``maestro-env compare``: compare mappers over layers, objectives and seeds."""
