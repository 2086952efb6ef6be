"""Directories of records that several processes share, and what runs them."""
