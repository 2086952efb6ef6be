"""What the mapper ``prior`` is trained on: problems, and labels that say what is best for them."""
