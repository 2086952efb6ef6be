"""Mappers x problems x seeds: the comparison, its tables and plots."""
