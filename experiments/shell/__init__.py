"""The command line: flags, start and end of a command, files."""
