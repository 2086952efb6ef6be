"""Data sets of mappings."""
