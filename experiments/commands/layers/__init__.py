"""``maestro-env layers``: list the layers that have a name."""
