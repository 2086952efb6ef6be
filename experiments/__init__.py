"""The commands: they search, compare, check and measure.

What is wrong with flags or files is a ``MaestroEnvError``, which a command shows in one line;
docstrings name only exceptions of other kinds.
"""
