"""Commands: search, measure, and draw what a run recorded."""
