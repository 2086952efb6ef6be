"""``maestro-env evaluate``: score a mapping file under both cost models."""
