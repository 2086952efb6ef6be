"""The tables and figures, a file each, which declares it as ``ITEM``."""
