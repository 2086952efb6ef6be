"""Commands, a folder each, and what they share: search, measure, draw what a run recorded."""
