"""``maestro-env gamma-parity``: compare mapper gamma with GAMMA's own program."""
