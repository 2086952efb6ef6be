"""A language model of mappings, and its training with mixed sparsity (MST)."""
