"""``maestro-env map``: map every layer of a network; write the mappings and the totals."""
