"""``maestro-env warm``: measure what mappings of similar layers are worth as a start."""
