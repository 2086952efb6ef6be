"""Checks certificates of mappings on any memories (docs/optimum.md), in NumPy alone."""
