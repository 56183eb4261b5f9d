"""From a record to one self-contained file: pages, templates, style and script inlined, nothing fetched."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from embassay.document import html as pages
from embassay.document import marks
from embassay.document.blocks import append_bracketed_interval, build_collapsible_table, clip_text
from embassay.document.html import minify_html, read_minified_assets
from embassay.document.marks import SHARES, LinearScale
from embassay.protocols.kernel import tables as numbers
from embassay.registry import import_attribute
from embassay.report.board import BoardValue
from embassay.report.record import APART, KINDS
from embassay.report.runs import ReportRun, find_kind_page_entry, list_report_systems_with_labels
from embassay.runs.folder import write_file_atomically


@dataclass(frozen=True)
class ReportPageDefinition:
    """A page: its place in the address (`#slug`), its name in the navigation, and where its content is made.

    `builder` is "module:function". A page of one `kind` of run is called with that run, and whether the report is of it
    alone; the others with all runs. It yields the blocks of the page; one without any is not shown. Where there is a
    `template`, it gives what that gets as `page`; one with `data` has data for its script, `page.data`, packed as
    `#slug-data`. Pages of one `group` stand together under its name in the navigation.
    """

    slug: str
    title: str
    builder: str
    kind: str = ""
    template: str = ""
    data: bool = False
    group: str = ""

    @classmethod
    def of(cls, kind: str) -> ReportPageDefinition:
        """That of a kind of run as it is declared in PAGES; of a kind of another package, with what it brings."""
        entry = find_kind_page_entry(kind)
        facts = dict(entry.facts) if entry else {}
        builder = (
            str(entry.factory) if entry and kind in KINDS else "embassay.report.overview:build_external_protocol_page"
        )
        return cls(kind, facts.get("title", kind), builder, kind, TEMPLATES.get(kind, ""), group=facts.get("group", ""))

    def list_section_pages(self, runs: Sequence[ReportRun]) -> list[ReportPage]:
        """List the pages, one per run of its kind or one of all; none where there is nothing to show."""
        if not self.kind:
            made = [(runs[0], self._build_page_content(runs))]
        else:
            shown = [run for run in runs if run.record.kind == self.kind and run.record.rows]
            arguments = [(run.record, run.board) if self.template else (run, len(runs) == 1) for run in shown]
            made = [(run, self._build_page_content(*given)) for run, given in zip(shown, arguments, strict=True)]
        return [ReportPage(self, run, content) for run, content in made if content]

    def _build_page_content(self, *arguments: Any) -> Any:
        made = import_attribute(self.builder)(*arguments)
        return made if self.template else tuple(made)


@dataclass(frozen=True)
class ReportPage:
    """A section with its content and the run it is of: the first one where it is of all."""

    section: ReportPageDefinition
    run: ReportRun
    content: Any

    @property
    def ending(self) -> str:
        """What ends every id of the page: nothing but for the second run of a kind and those after it."""
        return self.run.ending if self.section.kind else ""

    @property
    def beginning(self) -> str:
        """What begins every id of a page of another package, which does not know those of the others."""
        kind = self.section.kind
        return f"{kind}-" if kind and kind not in KINDS else ""

    @property
    def slug(self) -> str:
        """The slug of the page: its place in the address."""
        return self.section.slug + self.ending

    @property
    def title(self) -> str:
        """Its name in the navigation: where a report has several runs of a kind, with that of the run."""
        called = self.run.called if self.section.kind else ""
        return f"{self.section.title} {called}" if called else self.section.title


TEMPLATES = {"pteb": "pteb.html", "sweep": "sweep.html", "hume": "hume.html"}
"""Of the pages of kinds of run that are more than blocks."""
FIRST = ReportPageDefinition(
    "overview", "Overview", "embassay.report.overview:make_overview_page", template="overview.html"
)
LAST = (
    ReportPageDefinition("watch", "Watch", "embassay.report.watch.timeline:watch_checks_page"),
    ReportPageDefinition("systems", "Systems", "embassay.report.cards.card:make_system_cards", template="systems.html"),
    ReportPageDefinition("items", "Items", "embassay.report.items:make_items_page", data=True, template="items.html"),
    ReportPageDefinition("reading", "Reading", "embassay.report.kinds:explain_how_to_read_report", group="How to read"),
    ReportPageDefinition("method", "Method", "embassay.report.method:make_methods_page", template="method.html",
        group="How to read")
)  # fmt: skip
"""The pages of every report, before and after those of its kinds of run."""


STYLES, ANSWERS, MATRIX = ("report.css",), ("answers.css",), ("matrix.css",)
"""Of every report, of a first screen that answers questions, and of questions by systems."""
POLICY_PLACE, STYLE_PLACE, SCRIPT_PLACE = "/*policy*/", "/*style*/", "/*script*/"
IDS = re.compile(r'(?<= id=")([^"]+)')
IDS_AND_LINKS = re.compile(r'(?:(?<= id=")|(?<= href="#)|(?<= name="chip-)|(?<= aria-labelledby="))([^"?]+)')
SCRIPTS, COMPARE, SWEEP = ("frame.js", "tables.js", "items.js"), ("compare.js",), ("sweep.js",)
"""Of every report, of one that compares two systems, and of one with a sweep."""


def write_whole_report_html(runs: Sequence[ReportRun], target: Path) -> Path:
    """Write the report of the runs to `target`, in one step."""
    write_file_atomically(target, render_whole_report_as_html(runs))
    return target


def list_report_page_definitions(runs: Sequence[ReportRun]) -> tuple[ReportPageDefinition, ...]:
    """List the sections of a report, in the order of the navigation: other packages' after ours."""
    kinds = dict.fromkeys(run.record.kind for run in runs)
    ours, others = filter(kinds.__contains__, KINDS), (kind for kind in kinds if kind not in KINDS)
    return (FIRST, *map(ReportPageDefinition.of, (*ours, *others)), *LAST)


def group_navigation_entries(pages: Sequence[ReportPage]) -> dict[str, list[ReportPage]]:
    """The entries of the navigation, in order: what stands there, and the pages below it."""
    entries: dict[str, list[ReportPage]] = {}
    for page in pages:
        entries.setdefault(page.section.group or page.title, []).append(page)
    return {pages[0].title if len(pages) == 1 else name: pages for name, pages in entries.items()}


def render_whole_report_as_html(runs: Sequence[ReportRun]) -> str:
    """Render the whole report as one page."""
    pages = [page for section in list_report_page_definitions(runs) for page in section.list_section_pages(runs)]
    html = minify_html(
        make_template_environment()
        .get_template("frame.html")
        .render(
            runs=runs,
            name=" and ".join(dict.fromkeys(run.record.manifest.get("name", "") for run in runs)),
            pages=pages,
            entries=group_navigation_entries(pages),
            data=escape_json_for_script(collect_script_data(runs)),
        )
    )
    styles = (*STYLES, *ANSWERS) if len(runs) > 1 or "<table class=answers>" in html else STYLES
    grids = ("matrix.js",) if "<div class=matrix" in html else ()
    styles = (*styles, *MATRIX) if grids else styles
    compares = COMPARE if "<div id=compare-fields>" in html else ()
    sweeps = SWEEP if any(page.section.slug == "sweep" for page in pages) else ()
    scripts = (*SCRIPTS, *compares, *sweeps, *grids)
    style, script = (
        read_minified_assets("embassay.report", styles) + marks.write_mark_position_css(html),
        read_minified_assets("embassay.report", scripts),
    )
    # Before the first two places and after the last no text of data stands, which could hold the same words.
    html = html.replace(POLICY_PLACE, build_security_policy(style, script), 1).replace(STYLE_PLACE, style, 1)
    before, _, after = html.rpartition(SCRIPT_PLACE)
    return before + script + after


def build_security_policy(style: str, script: str) -> str:
    """The content security policy: nothing may be loaded or run but this style and this script."""
    return (
        f"default-src 'none'; style-src '{_hash_for_security_policy(style)}'; "
        f"script-src '{_hash_for_security_policy(script)}'; base-uri 'none'; form-action 'none'"
    )


def escape_json_for_script(value: Any) -> Markup:
    """JSON that can stand in a script element: no `<` can end it, no line separator can break it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in ("<", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def compress_json_to_base64(value: Any) -> str:
    """JSON compressed by gzip, in base64: for data that only the script reads."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode("ascii")


def collect_script_data(runs: Sequence[ReportRun]) -> dict[str, Any]:
    """What the script needs on every page: the systems and the paired comparisons, systems by their index."""
    return {
        "run": runs[0].record.manifest.get("name", ""),
        "alpha": runs[0].record.alpha,
        "systems": [
            {"name": system.name, "label": label, "kind": marks.CLASSES[system.kind]}
            for system, label in list_report_systems_with_labels(runs)
        ],
        "scopes": [scope for run in runs for scope in _list_run_comparisons_by_scope(run, several=len(runs) > 1)],
    }


def _list_run_comparisons_by_scope(run: ReportRun, *, several: bool) -> list[dict[str, Any]]:
    record, board = run.record, run.board
    index = {system.name: system.index for system in record.systems}
    titles = {"overall": "Overall"} | {task.name: task.title for task in board.tasks}
    titles |= {name + APART: f"{title}, classical metrics" for name, title in titles.items()}
    return [
        {
            "name": f"{run.slug}.{name}" if run.mark else name,
            "title": f"{run.title}: {title}" if several else title,
            "factor": board.unit.factor,
            "digits": board.unit.decimals,
            "systems": [index[system] for system in record.scopes[name].systems],
            "pairs": [
                [index[pair.a], index[pair.b],
                 *(float(f"{number:.4g}") for number in
                   (pair.difference, pair.ci_low, pair.ci_high, pair.p_adjusted))]
                for pair in record.scopes[name].pairs
            ],
        }
        for name, title in titles.items()
        if name in record.scopes and record.scopes[name].pairs
    ]  # fmt: skip


@lru_cache(maxsize=1)
def make_template_environment() -> Environment:
    """The template environment: everything is escaped, an unknown name is an error."""
    made = pages.make_block_environment(PackageLoader("embassay.report", "templates"))
    made.globals.update(
        numbers=numbers, folded=build_collapsible_table, unit_scale=LinearScale(0.0, 1.0, 1.0), unit_percent=SHARES
    )
    made.filters.update(
        exact=exact_value_attribute,
        packed=compress_json_to_base64,
        clipped=clip_text,
        ended=suffix_page_ids,
        beside=append_bracketed_interval,
        quoted=escape_json_for_attribute,
    )
    return made


def exact_value_attribute(value: BoardValue | None) -> Markup:
    """A value (and its interval) as an attribute for sorting and CSV; else the reason."""
    if value is None or value.value is None:
        return Markup(' data-why="{}"').format(value.reason or value.text if value else "")
    return Markup(' data-v="{}"').format(value.exact)


def escape_json_for_attribute(text: str) -> Markup:
    """JSON as the value of an attribute between single quotes: its own double ones need no escape."""
    return Markup(escape(text).replace(Markup("&#34;"), Markup('"')))


def suffix_page_ids(html: Markup, ending: str, beginning: str = "") -> Markup:
    """A page whose every id ends in `ending`, with its own links to them: that of a second run of one kind. With a
    `beginning`, every id that has it not gets it.

    Text from data is escaped, so that no quote or tag in it matches.
    """
    if not ending and not beginning:
        return html
    ids = set(IDS.findall(html))

    def rename_id(var: re.Match[str]) -> str:
        if var[1] not in ids:
            return var[0]
        return var[0][: -len(var[1])] + ("" if var[1].startswith(beginning) else beginning) + var[1] + ending

    return Markup(IDS_AND_LINKS.sub(rename_id, html))


def _hash_for_security_policy(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
