"""What is shown: statistics, tables, plots, progress."""
