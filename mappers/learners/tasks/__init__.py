"""Tasks that are not mapping: many copies of a small world step together."""
