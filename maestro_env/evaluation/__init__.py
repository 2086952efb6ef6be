"""What a mapping costs, and what searches ask of it."""
