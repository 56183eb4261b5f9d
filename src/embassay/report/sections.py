"""The pages of a report. A protocol's page registers here and is shown when the report has a run of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from embassay.report.gathered import Run


@dataclass(frozen=True)
class Section:
    """A page: its place in the address (`#slug`), its name in the navigation, and where its content is made.

    `builder` is "module:function". A page of one `kind` of run is called with that run's record and board; the others
    with all runs. A page without content (None) is not shown. `template` gets the content as `page`; one with `data`
    has data for its script, `page.data`, packed as `#slug-data`.
    """

    slug: str
    title: str
    template: str
    builder: str
    kind: str = ""
    data: bool = False

    def pages(self, runs: Sequence[Run]) -> list[Page]:
        """The pages, one per run of its kind or one of all; none where there is nothing to show."""
        if not self.kind:
            content = self._content(runs)
            return [] if content is None else [Page(self, runs[0], content)]
        own = [run for run in runs if run.record.kind == self.kind and run.record.rows]
        found = [(run, self._content(run.record, run.board)) for run in own]
        return [Page(self, run, content) for run, content in found if content is not None]

    def _content(self, *arguments: Any) -> Any:
        module, _, name = self.builder.partition(":")
        return getattr(import_module(module), name)(*arguments)


@dataclass(frozen=True)
class Page:
    """A section with its content and the run it is of: the first one where it is of all."""

    section: Section
    run: Run
    content: Any

    @property
    def ending(self) -> str:
        """What ends every id of the page: nothing but for the second run of a kind and those after it."""
        return self.run.ending if self.section.kind else ""

    @property
    def slug(self) -> str:
        """Its place in the address."""
        return self.section.slug + self.ending

    @property
    def title(self) -> str:
        """Its name in the navigation: where a report has several runs of a kind, with that of the run."""
        called = self.run.called if self.section.kind else ""
        return f"{self.section.title} {called}" if called else self.section.title


SECTIONS = (
    Section("overview", "Overview", "overview.html", "embassay.report.overview:overview"),
    Section("sage", "SAGE", "sage.html", "embassay.report.sage.page:sage_page", kind="sage"),
    Section("pteb", "PTEB", "pteb.html", "embassay.report.pteb.page:pteb_page", kind="pteb"),
    Section("judge", "Judges", "judge.html", "embassay.report.pteb.judges:judge_page", kind="judge"),
    Section(
        "paraphrasers", "Paraphrasers", "paraphrasers.html", "embassay.report.pteb.selection:selection_page",
        kind="paraphrasers",
    ),
    Section(
        "validation", "Validation", "validation.html", "embassay.report.pteb.validation:validation_page",
        kind="validation",
    ),
    Section("golden", "Golden set", "golden.html", "embassay.report.rag.golden:golden_page", kind="golden"),
    Section("score", "RAG", "score.html", "embassay.report.rag.score:score_page", kind="score"),
    Section("sweep", "Sweep", "sweep.html", "embassay.report.rag.sweep:sweep_page", kind="sweep"),
    Section("names", "Names", "names.html", "embassay.report.rag.probes.names:names_page", kind="names"),
    Section("noise", "Noise", "noise.html", "embassay.report.rag.probes.noise:noise_page", kind="noise"),
    Section("hume", "HUME", "hume.html", "embassay.report.hume.page:hume_page", kind="hume"),
    Section("mteb", "MTEB", "mteb.html", "embassay.report.published:mteb_page", kind="mteb"),
    Section("systems", "Systems", "systems.html", "embassay.report.cards:cards_of"),
    Section("items", "Items", "items.html", "embassay.report.items:items_of", data=True),
    Section("reading", "Reading", "reading.html", "embassay.report.reading:reading_of"),
    Section("method", "Method", "method.html", "embassay.report.methods:methods_of"),
)  # fmt: skip
"""In the order of the navigation; the pages of further protocols stand after these."""
