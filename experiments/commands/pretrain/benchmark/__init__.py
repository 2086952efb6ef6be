"""Scores mappers on problems that no training has seen (docs/benchmark.md)."""
