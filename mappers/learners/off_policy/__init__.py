"""Actors and central critics that learn from replay: MADDPG and MASAC."""
