"""Checks certificates of mappings on any memories (docs/optimum_memories.md), in NumPy alone."""
