"""Checks certificates of optima, sharing no code with the search that writes them."""
