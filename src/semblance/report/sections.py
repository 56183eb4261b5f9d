"""The pages of a report. A protocol's page registers here and is shown when the report has a run of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from semblance.report.gathered import Run


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

    def build(self, runs: Sequence[Run]) -> Page | None:
        """The page, None when there is nothing to show."""
        run = next((run for run in runs if run.record.kind == self.kind), None) if self.kind else runs[0]
        if run is None or (self.kind and not run.record.rows):
            return None
        module, _, name = self.builder.partition(":")
        build = getattr(import_module(module), name)
        content = build(run.record, run.board) if self.kind else build(runs)
        return None if content is None else Page(self, run, content)


@dataclass(frozen=True)
class Page:
    """A section with its content and the run it is of: the first one where it is of all."""

    section: Section
    run: Run
    content: Any


SECTIONS = (
    Section("overview", "Overview", "overview.html", "semblance.report.overview:overview"),
    Section("sage", "SAGE", "sage.html", "semblance.report.sage.page:sage_page", kind="sage"),
    Section("pteb", "PTEB", "pteb.html", "semblance.report.pteb.page:pteb_page", kind="pteb"),
    Section("judge", "Judges", "judge.html", "semblance.report.pteb.judges:judge_page", kind="judge"),
    Section(
        "paraphrasers", "Paraphrasers", "paraphrasers.html", "semblance.report.pteb.selection:selection_page",
        kind="paraphrasers",
    ),
    Section(
        "validation", "Validation", "validation.html", "semblance.report.pteb.validation:validation_page",
        kind="validation",
    ),
    Section("golden", "Golden set", "golden.html", "semblance.report.rag.golden:golden_page", kind="golden"),
    Section("score", "RAG", "score.html", "semblance.report.rag.score:score_page", kind="score"),
    Section("sweep", "Sweep", "sweep.html", "semblance.report.rag.sweep:sweep_page", kind="sweep"),
    Section("names", "Names", "names.html", "semblance.report.rag.probes.names:names_page", kind="names"),
    Section("noise", "Noise", "noise.html", "semblance.report.rag.probes.noise:noise_page", kind="noise"),
    Section("hume", "HUME", "hume.html", "semblance.report.hume.page:hume_page", kind="hume"),
    Section("systems", "Systems", "systems.html", "semblance.report.cards:cards_of"),
    Section("items", "Items", "items.html", "semblance.report.items:items_of", data=True),
    Section("method", "Method", "method.html", "semblance.report.method:methods_of"),
)  # fmt: skip
"""In the order of the navigation; the pages of further protocols stand after these."""
