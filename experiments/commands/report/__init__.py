"""``maestro-env report``: a page, Markdown and CSV of mapped networks and searches."""
