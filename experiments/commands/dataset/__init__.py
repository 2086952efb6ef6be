"""``maestro-env dataset``: write mappings with all figures as Parquet files."""
