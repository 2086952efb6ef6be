"""``maestro-env completion``: print a script by which a shell completes commands and flags."""
