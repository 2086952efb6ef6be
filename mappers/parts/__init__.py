"""What black-box mappers share."""
