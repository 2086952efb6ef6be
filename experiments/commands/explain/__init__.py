"""``maestro-env explain``: say why a mapping costs what it does, and what would be better."""
