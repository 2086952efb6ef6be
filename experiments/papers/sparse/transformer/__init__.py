"""``maestro-env sparse transformer``: a corpus of mappings, trainings of each kind, tables."""
