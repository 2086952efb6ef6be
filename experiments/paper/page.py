"""The page of results, made of the result files alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.files import RecordError, ensure_directory, write_text
from experiments.paper.about import provenance, read_about
from experiments.paper.config import Plan
from experiments.paper.item import Claim, Item, Places, Section
from experiments.paper.items import ITEMS

_HOUR = 3600
_OPENING = (
    "The tables and figures of the paper (Krishnan et al., *Multi-Agent Reinforcement Learning for "
    "Sample-Efficient Deep Neural Network Mapping*), made anew. "
    "`python -m experiments.paper --all` runs every search and writes the files in "
    "`experiments/results`; without a flag it makes this page of those files alone, its sentences "
    "included."
)
_VERDICTS = {True: "Holds", False: "Does not hold", None: "Not decided"}


def write_page(plan: Plan) -> None:
    """Write the page.

    Raises:
        RecordError: a result file cannot be read, or the page not be written.
    """
    ensure_directory(plan.page.parent)
    write_text(plan.page, "\n\n".join(_parts(plan)) + "\n")


def _parts(plan: Plan) -> Iterator[str]:
    claims: list[Claim] = []
    bodies: list[str] = []
    seconds = 0.0
    for item in ITEMS.values():
        places = plan.places(item)
        about = read_about(places.results)
        if about is None:
            section, source = Section((), "Not run yet."), None
        else:
            ensure_directory(places.images)
            section, source = _section(item, places, about), provenance(about)
            seconds += about["own_seconds"]
        claims += section.claims
        bodies += [f"## {item.title}", *([source] if source else []), section.body.strip()]
    yield "# Results"
    yield _OPENING
    yield "## Where the paper's claims hold"
    yield _summary(claims)
    yield (
        f"The searches of all sections took {seconds:,.0f} seconds of one core "
        f"({seconds / _HOUR:.2f} core-hours), those that several share counted once."
    )
    yield from bodies


def _section(item: Item, places: Places, about: Mapping[str, Any]) -> Section:
    """Make an item's section, its claims not decided as long as searches are missing.

    Raises:
        RecordError: its results cannot be read.
    """
    try:
        section = item.section(places)
    except RecordError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise RecordError(
            f"cannot read the results in {places.results}: {error}; `{about['command']}` writes "
            "them anew"
        ) from None
    if about["finished"] == about["asked"]:
        return section
    missing = f" Not decided yet ({about['finished']:,} of {about['asked']:,} searches)."
    claims = [replace(each, holds=None, found=each.found + missing) for each in section.claims]
    return replace(section, claims=claims)


def _summary(claims: Sequence[Claim]) -> str:
    if not claims:
        return "Nothing has been run yet."
    lines = (
        f"- **{_VERDICTS[claim.holds]}.** The paper: {claim.paper} Here: {claim.found}"
        for claim in claims
    )
    opening = (
        "Not decided are those that intervals do not tell apart, and those of searches of which "
        "some are missing."
    )
    return "\n".join([opening, "", *lines])
