"""``maestro-env verify``: check the proofs that the command optimum writes.

It shares no code with the search that writes them.
"""
