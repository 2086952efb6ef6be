"""``maestro-env optimum``: find the best mapping of a layer and prove that none is better."""
