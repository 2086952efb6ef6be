"""``maestro-env pretrain``: score mappers on problems that training has not seen."""
