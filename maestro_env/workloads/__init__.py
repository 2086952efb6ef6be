"""Layers and networks: what is mapped."""
