"""What learned mappers are made of: arrays and networks, no map spaces, no files."""
