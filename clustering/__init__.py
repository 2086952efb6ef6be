"""Which parameters of a map space share an agent."""
