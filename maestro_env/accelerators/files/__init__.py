"""Accelerators in files of other tools."""
