"""What a mapping costs on an accelerator with any number of memories (docs/spec/hierarchy.md)."""
