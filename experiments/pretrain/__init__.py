"""``maestro-env pretrain``: score mappers that have seen other layers, by the benchmark protocol."""
