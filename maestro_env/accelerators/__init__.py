"""Accelerators: hardware, technologies, published chips, files that describe them."""
