"""Parts of texts that people write: YAML blocks, templates, expressions."""
