"""docs/published.md and benchmarks/results/published.md, made from docs/published.csv and docs/published_reasons.json.

python benchmarks/published_page.py --write     renew it after `reproduce.py` has written the figures anew
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from made_page import put

from embassay.interchange.reproduction import ReproducedTableValue

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FIGURES, REASONS = DOCS / "published.md", DOCS / "published.csv", DOCS / "published_reasons.json"
HERE = Path(__file__).parent
EVIDENCE = HERE / "results" / "published.md"
FIT = """Mean distance of SAGE's figures from the published ones, the four metrics together: table 4 .019 with whole
texts, .059 cut at 512 tokens; tables 5 and 6 .017 with the author's Lorem Ipsum and cut texts, .025 with that needle
alone, .026 with neither. `--edits 2024` moves only BM25 in table 4: .026 instead of .031, and .013 instead of .010
without the 50 bills."""
FAR = 0.03
"""Of a table that is listed whole in the evidence, the page has the figures that are farther off than this."""


@dataclass(frozen=True)
class Table:
    """A table of a paper: what it shows, and by what ours was made. `whole`: all its figures are listed."""

    paper: str
    table: str
    title: str
    made_by: str
    whole: bool = False


@dataclass(frozen=True)
class Reason:
    """Why figures differ: those of a table whose row and column fit the patterns."""

    paper: str
    table: str
    why: str
    row: str = "*"
    column: str = "*"

    def fits(self, figure: ReproducedTableValue) -> bool:
        """Whether it speaks of the figure."""
        same = (self.paper, self.table) == (figure.paper, figure.table)
        return same and fnmatchcase(figure.row, self.row) and fnmatchcase(figure.column, self.column)


def page() -> str:
    """The page of the documentation: the counts, and what differs and why."""
    figures, (papers, tables, reasons) = read_figures(FIGURES), notes()
    head = (HERE / "published_head.md").read_text("utf-8").rstrip()
    tail = (HERE / "published_tail.md").read_text("utf-8").rstrip()
    sections = [differing(paper, about, figures, tables, reasons) for paper, about in papers.items()]
    return "\n\n".join([head, overview(papers, figures), *sections, tail]) + "\n"


def evidence() -> str:
    """Every table of every paper, and figure by figure those that are listed whole."""
    figures, (papers, tables, reasons) = read_figures(FIGURES), notes()
    sections = [section(paper, figures, tables, reasons) for paper in papers]
    return "\n\n".join(["# The figures behind docs/published.md", FIT, *sections]) + "\n"


def notes() -> tuple[dict[str, str], list[Table], list[Reason]]:
    """What is said of papers, tables and differences."""
    told = json.loads(REASONS.read_text("utf-8"))
    return (told["papers"], [Table(**one) for one in told["tables"]], [Reason(**one) for one in told["reasons"]])


def why(figure: ReproducedTableValue, reasons: Sequence[Reason]) -> str:
    """The first reason that fits; LookupError where a figure differs without one."""
    if figure.verdict == "differs":
        return next(one.why for one in reasons if one.fits(figure))
    return ""


def overview(papers: dict[str, str], figures: Sequence[ReproducedTableValue]) -> str:
    """How many figures agree, by paper."""
    lines = ["| | Figures | Exact | Within rounding | Differ |", "|---|---:|---:|---:|---:|"]
    for paper in papers:
        lines.append(f"| [{paper}](#{paper.lower()}) | {counted(one for one in figures if one.paper == paper)} |")
    return "\n".join([*lines, f"| Total | {counted(iter(figures))} |"])


def counted(figures: Iterator[ReproducedTableValue]) -> str:
    """Four cells."""
    found = Counter(one.verdict for one in figures)
    return " | ".join(f"{n:,}" for n in (found.total(), found["exact"], found["within rounding"], found["differs"]))


def differing(
    paper: str, about: str, figures: Sequence[ReproducedTableValue], tables: Sequence[Table], reasons: Sequence[Reason]
) -> str:
    """A paper: what ours was made from, and the figures that differ; of tables of other documents, those far off."""
    whole = {one.table for one in tables if one.paper == paper and one.whole}
    found = [one for one in figures if one.paper == paper and one.verdict == "differs"]
    far = [one for one in found if one.table not in whole or abs(float(one.ours) - float(one.published)) > FAR]
    left = len(found) - len(far)
    rest = f"The other {left} differing figures are off by at most {FAR}." if left else ""
    return "\n\n".join(part for part in (f"## {paper}", about, listed(far, reasons, True), rest) if part)


def section(
    paper: str, figures: Sequence[ReproducedTableValue], tables: Sequence[Table], reasons: Sequence[Reason]
) -> str:
    """A paper: its tables, then those that are listed whole."""
    own = [one for one in tables if one.paper == paper]
    mine = {one.table: [each for each in figures if (each.paper, each.table) == (paper, one.table)] for one in own}
    rows = [f"| {one.table} | {one.title} | {counted(iter(mine[one.table]))} | {one.made_by} |" for one in own]
    heads = [
        "| Table | What | Figures | Exact | Within rounding | Differ | Ours by |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    parts = [f"## {paper}", "\n".join(heads + rows)]
    for one in own:
        if one.whole:
            parts += [
                f"### {one.table[:1].upper()}{one.table[1:]}: {one.title}",
                listed(mine[one.table], reasons, False),
            ]
    return "\n\n".join(parts)


def listed(figures: Sequence[ReproducedTableValue], reasons: Sequence[Reason], tables: bool) -> str:
    """Figure by figure, with a word for each; reasons numbered, each said once, below."""
    lines = [f"| Figure | Published | Ours | Difference | {'Reason' if tables else ''} |", "|---|---:|---:|---:|---|"]
    given: dict[str, int] = {}
    for one in figures:
        where = f"{one.table}: {one.row}, {one.column}" if tables else f"{one.row}, {one.column}"
        reason = why(one, reasons)
        number = given.setdefault(reason, len(given) + 1) if reason else 0
        # All figures of the page differ: the number of the reason says enough there.
        verdict = (f"({number})" if tables else f"differs ({number})") if reason else one.verdict
        difference = f"{float(one.rounded_value) - float(one.published):+.{_decimals(one)}f}"
        lines.append(f"| {where} | {one.published} | {one.rounded_value} | {difference} | {verdict} |")
    return "\n".join(
        [*lines, "", *(f"{number}. {reason[:1].upper()}{reason[1:]}." for reason, number in given.items())]
    )


def _decimals(figure: ReproducedTableValue) -> int:
    return len(figure.published.partition(".")[2])


def read_figures(path: Path) -> list[ReproducedTableValue]:
    """The figures of a file."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [ReproducedTableValue(**row) for row in csv.DictReader(stream)]


if __name__ == "__main__":
    put(page(), PAGE)
    put(evidence(), EVIDENCE)
