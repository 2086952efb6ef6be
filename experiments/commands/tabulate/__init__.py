"""``maestro-env tabulate``: evaluate every vector of small spaces."""
