"""What ``mappers.marl`` is made of: who decides what, how agents draw, learn and remember."""
