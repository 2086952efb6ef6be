"""Certificates of optima: reading them, and checking all that they say (docs/optimum.md, 9)."""
