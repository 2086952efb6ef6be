"""``maestro-env optima``: prove the optima of many layers and keep them in a table."""
