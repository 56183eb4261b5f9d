"""The owner's page: one finding, then progress, agreement, remarks and links."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from embassay.protocols import numbers
from embassay.protocols.hume.answers import Exposure
from embassay.web.annotation.overview import Overview, Progress
from embassay.web.annotation.pages import render
from embassay.web.annotation.service import Service

COEFFICIENTS = {
    "fleiss_kappa": "Fleiss’ kappa",
    "ari": "adjusted Rand index",
    "spearman": "Spearman’s ρ",
}
_MOST_REMARKS = 300
FEWEST = 10
"""Items below which a value is shown in grey and not called anything in a sentence."""


def owner_page(
    service: Service, found: Overview, *, base: str, writers: Sequence[str], exposures: Sequence[Exposure]
) -> str:
    """The page as HTML. `base` goes before the links; `writers` are those for whom this browser answered: what others
    answered is held back from it."""
    study = service.folder.study
    return render(
        "owner/owner.html", study=study, found=found, verdict=verdict(found), agreed=agreed(found),
        links=[(one, base + service.annotator_link(one.id)) for one in found.annotators], writers=writers,
        exposures=exposures, at=f"{datetime.now(UTC):%H:%M:%S}", coefficients=COEFFICIENTS, numbers=numbers,
        when=when, width=width, most=_MOST_REMARKS, fewest=FEWEST,
    )  # fmt: skip


def verdict(found: Overview) -> str:
    """How far the study is, in a sentence."""
    if not found.decided:
        return f"Nobody has answered yet: {found.wanted:,} answers are wanted"
    if len(found.done) == len(found.annotators):
        return "Everybody has finished" if len(found.done) > 1 else f"{found.done[0].id} has finished"
    share = numbers.percent(found.decided / found.wanted)
    return f"{share} of the answers are in: {found.decided:,} of {found.wanted:,}"


def agreed(found: Overview) -> str:
    """How well people agree, in a sentence, on tasks of which enough items were answered twice to say so."""
    known = [one for one in found.tasks if not one.agreement.reason and one.agreement.items >= FEWEST]
    if not known:
        return f"Agreement is put into words once two people have answered the same {FEWEST} items of a task."
    words = ", ".join(f"{one.task.title} – {one.agreement.band}" for one in known)
    return f"Agreement so far: {words}."


def when(at: str | None) -> str:
    """A time of the store as people read it.

    >>> when("2026-11-21T22:36:30.082Z"), when(None)
    ('21 Nov 2026, 22:36 UTC', '–')
    """
    if at is None:
        return numbers.NONE
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def width(one: Progress) -> str:
    """How much of a bar is full."""
    return f"{100 * one.decided / one.items:.2f}%" if one.items else "0%"
