"""The pages of a report. A protocol's page registers here and is shown when the run has results of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from semblance.report.board import Board
from semblance.report.record import Record

Build = Callable[[Record, Board], Any]


@dataclass(frozen=True)
class Section:
    """A page: its place in the address (`#slug`), its name in the navigation, and where its content is made.

    `builder` is "module:function", called with the record and the board; a page without content (None) is not
    shown. `template` gets the content as `page`. A page with a `protocol` needs results of it; one with
    `data` has data for its script, `page.data`, packed as `#slug-data`.
    """

    slug: str
    title: str
    template: str
    builder: str
    protocol: str = ""
    data: bool = False

    def build(self, record: Record, board: Board) -> Any:
        """The content of the page, None when there is nothing to show."""
        if self.protocol and self.protocol not in record.protocols:
            return None
        module, _, name = self.builder.partition(":")
        build: Build = getattr(import_module(module), name)
        return build(record, board)


SECTIONS = (
    Section("overview", "Overview", "overview.html", "semblance.report.overview:overview"),
    Section("sage", "SAGE", "sage.html", "semblance.report.sage.page:sage_page", protocol="sage"),
    Section("systems", "Systems", "systems.html", "semblance.report.cards:system_cards"),
    Section("items", "Items", "items.html", "semblance.report.items:item_page", data=True),
    Section("method", "Method", "method.html", "semblance.report.method:method_page"),
)
"""In the order of the navigation; the pages of further protocols stand after SAGE."""
