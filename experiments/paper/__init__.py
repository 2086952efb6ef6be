"""``maestro-env paper``: make the tables and figures of the paper."""
