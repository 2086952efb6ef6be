"""A policy that has seen other problems, and proposes mappings: the shipped one, and others."""
