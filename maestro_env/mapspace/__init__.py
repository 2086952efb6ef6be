"""Mappings, and the space of them."""
