"""One search: its goal, its record, its samples."""
