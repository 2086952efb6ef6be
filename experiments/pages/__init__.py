"""Reports of mapped networks and of searches: as a page, as Markdown, as CSV."""

from experiments.pages.sections import Section, section_of
from experiments.pages.writer import write_report

__all__ = ["Section", "section_of", "write_report"]
