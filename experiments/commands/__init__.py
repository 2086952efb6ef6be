"""The commands of ``maestro-env``: one file or folder each, found by its name."""
