"""Every section and quirk that a comment of the core cites stands in ``docs/spec``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CITED = re.compile(r"\b(?:[SEH]\d+(?:\.\d+)?|Q\d+)\b")
STATED = re.compile(r"(?:^#+ |\*\*)([SEHQ]\d+(?:\.\d+)?)\b", re.MULTILINE)


def test_what_comments_cite_is_stated() -> None:
    stated = {
        section
        for page in (ROOT / "docs" / "spec").glob("*.md")
        for section in STATED.findall(page.read_text(encoding="utf-8"))
    }
    cited = {
        citation: file.name
        for file in (ROOT / "native").rglob("*.?pp")
        for comment in re.findall("//.*", file.read_text(encoding="utf-8"))
        for citation in CITED.findall(comment)
    }
    assert {"S6.5", "E4.3", "H3.6", "Q10"} <= cited.keys()
    assert {citation: file for citation, file in cited.items() if citation not in stated} == {}
