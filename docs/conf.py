"""Settings of Sphinx, which builds the site of these pages (``make docs``).

Sphinx, because with MyST it reads GitHub's Markdown, checks every link and heading that a page names,
and takes the reference from the docstrings of the imported package.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maestro_env

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "maestro-env"
author = "maestro-env developers"
version = release = maestro_env.__version__
html_title = f"maestro-env {release}"
html_theme = "furo"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Headings get the anchors that GitHub gives them.
myst_heading_anchors = 4
# A block without a language is a command or its output.
highlight_language = "none"
# Docstrings write code in single or double backticks; those of Gymnasium are not ours.
default_role = "code"
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"


def texts() -> dict[str, str]:
    """Return what pages take from files beside docs/, with links as from docs/."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    readme = readme.replace("](CONTRIBUTING.md", "](contributing.md")
    first_screen, heading, rest = readme.partition("## What a mapping is\n")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {
        "index": first_screen.replace("](#", "](guide.md#"),
        "guide": heading + rest,
        "contributing": contributing.replace("](docs/", "]("),
    }


def fill(_: Sphinx, page: str, source: list[str]) -> None:
    """Put a page's text where it is marked, and lead links to README to the page that has it."""
    marked = source[0].replace("<!-- text -->", texts().get(page, ""))
    source[0] = marked.replace("](../README.md", "](guide.md")


def use_rubrics(_: Sphinx, kind: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Write the headings of an environment's docstring, which are Gymnasium's, for Sphinx."""
    text = re.sub("^## (.*)$", r".. rubric:: \1\n", "\n".join(lines), flags=re.MULTILINE)
    lines[:] = text.split("\n")


def setup(app: Sphinx) -> None:
    """Connect both to Sphinx."""
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", use_rubrics)
