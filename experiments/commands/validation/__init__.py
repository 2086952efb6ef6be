"""``maestro-env validation``: set published measurements beside the optimum of the model."""
