"""``python -m experiments.dataset``: write mappings with all figures as Parquet files."""
