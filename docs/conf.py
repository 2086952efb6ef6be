"""Settings of Sphinx, which builds the site of these pages (``make docs``).

Sphinx, because with MyST it reads GitHub's Markdown, checks every link and heading that a page
names, and takes the reference from the docstrings of the imported package.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util.inspect import TypeAliasForwardRef

import maestro_env

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "maestro-env"
author = "maestro-env developers"
project_copyright = "2026, the maestro-env developers"
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
# Extras that the pages describe and their build does without.
autodoc_mock_imports = ["minari", "pettingzoo", "pyarrow", "stable_baselines3"]
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_member_order = "bysource"
# A name of a type is not spelt out: Points says more than its shape and dtype.
autodoc_type_aliases = {name: name for name in ("Floats", "Image", "Mask", "Points", "Status")}
# In a union, as in `Points | None`, Sphinx shows what repr says of it.
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # type: ignore[method-assign]
python_maximum_signature_line_length = 100


def texts() -> dict[str, str]:
    """Return what pages take from files beside docs/, with links as from docs/."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("[docs/", "[").replace("](docs/", "](")
    readme = readme.replace("](CONTRIBUTING.md", "](contributing.md")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {
        "index": readme,
        "contributing": contributing.replace("](docs/", "]("),
    }


def fill(_: Sphinx, page: str, source: list[str]) -> None:
    """Put a page's text where it is marked, and lead links to README to the page that has it."""
    text = source[0].replace("<!-- text -->", texts().get(page, ""))
    text = re.sub(r"\]\((\.\./)?README\.md", "](index.md", text)
    source[0] = text.replace("](../CONTRIBUTING.md", "](contributing.md")


def use_rubrics(_: Sphinx, kind: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Write the headings of an environment's docstring, which are Gymnasium's, for Sphinx."""
    text = re.sub("^## (.*)$", r".. rubric:: \1\n", "\n".join(lines), flags=re.MULTILINE)
    lines[:] = text.split("\n")


def leave_out_fields(
    _: Sphinx, kind: str, name: str, item: Any, skipped: bool, options: Any
) -> bool | None:
    """Leave out the fields of a class, which its docstring describes as arguments."""
    field = kind == "class" and not callable(item) and not hasattr(item, "__get__")
    return True if field else None


def setup(app: Sphinx) -> None:
    """Connect the functions above to what Sphinx does."""
    app.connect("source-read", fill)
    app.connect("autodoc-skip-member", leave_out_fields)
    app.connect("autodoc-process-docstring", use_rubrics)
