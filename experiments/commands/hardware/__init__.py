"""``maestro-env hardware``: list the accelerators that have a name."""
