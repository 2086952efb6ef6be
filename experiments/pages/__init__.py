"""Reports of mapped networks and of searches: as a page, as Markdown, as CSV."""
