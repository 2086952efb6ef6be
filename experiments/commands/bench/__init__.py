"""``maestro-env bench``: measure how fast mappings are evaluated on this machine."""
