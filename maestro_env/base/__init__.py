"""What all rooms stand on: errors, checks, readers of files, registries."""
