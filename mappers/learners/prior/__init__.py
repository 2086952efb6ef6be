"""A policy that has seen other problems."""
