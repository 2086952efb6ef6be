"""Tasks of which many copies step together: small worlds, and moves of a mapping."""
