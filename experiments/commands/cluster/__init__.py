"""``maestro-env cluster``: learn from samples which parameters share an agent."""
