"""Lower bounds of boxes of mappings, written from docs/optimum.md alone."""
