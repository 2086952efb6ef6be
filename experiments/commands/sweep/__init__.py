"""``maestro-env sweep``: search layers x hardware x objectives x mappers x seeds of a file."""
