"""Parts of ``mappers.marl``: grouping, policies, exploration, learning, memory of good samples."""
