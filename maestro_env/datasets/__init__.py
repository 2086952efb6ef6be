"""Data sets of mappings, and small spaces that are tables."""
