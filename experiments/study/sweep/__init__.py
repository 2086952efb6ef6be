"""Large studies: axes, chunks of cells, totals."""
