"""What a page is made of: a verdict, notes, words, figures, tables, and what holds several of them.

Blocks say what is there, not how it looks: `html.drawn` makes a page of them. Text from data is never markup; what is
drawn already (marks, plots) is `Markup` and may stand wherever a text may. Tables hold named rows and columns of
values with intervals, or words; those that a run wrote are read as they are.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from embassay.contracts import Kind
from embassay.data.lines import is_number
from embassay.document.marks import LinearScale
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.records import ResultRow


@dataclass(frozen=True)
class SystemNameInSentence:
    """A system's name inside a sentence."""

    label: str
    index: int = 0


@dataclass(frozen=True)
class CommandInSentence:
    """A command line or a file inside a sentence."""

    label: str


@dataclass(frozen=True)
class PageLink:
    """Words that lead to another `place` of the page."""

    label: str
    place: str


@dataclass(frozen=True)
class StyledWords:
    """Words set apart: `style` is `b`, `bdi`, `em`, `small`, or a class: `command` of one to copy, `state failed`,
    `data` of a text in whatever direction it runs."""

    label: str
    style: str


Part = str | SystemNameInSentence | CommandInSentence | PageLink | StyledWords
Sentence = tuple[Part, ...]
Said = str | Sentence


def convert_sentence_to_text(sentence: Iterable[Part]) -> str:
    """A sentence as text."""
    return "".join(part if isinstance(part, str) else part.label for part in sentence)


def join_names_with_and(parts: Sequence[Part], joint: str = "and") -> Sentence:
    """Join names into a sentence with commas and `and`."""
    if len(parts) < 2:
        return tuple(parts)
    head: list[Part] = []
    for part in parts[:-1]:
        head += [part, ", "]
    return (*head[:-1], f" {joint} ", parts[-1])


def clip_text(text: str, most: int = 400) -> str:
    """A text of at most `most` characters, with an ellipsis where it was longer."""
    return text if len(text) <= most else text[:most].rstrip() + " …"


@dataclass(frozen=True)
class PageFactsLine:
    """The line of facts over a page's heading, with `links` to what else there is of it."""

    facts: tuple[str, ...]
    links: tuple[PageLink, ...] = ()

    @classmethod
    def of(cls, kind: str, *facts: str) -> PageFactsLine:
        """Make the line of facts of a run of a kind, with a link to what its scale or marks mean."""
        return cls(facts, (PageLink("how to read this", f"reading-{kind}" if kind else "reading"),))


@dataclass(frozen=True)
class VerdictText:
    """The text of a verdict: a heading, up to four sentences and the `claims` that they word."""

    heading: Sentence
    lede: tuple[Sentence, ...] = ()
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Heading:
    """The heading of what follows, down to the next one of its `level`."""

    said: Said
    id: str = ""
    level: int = 2


@dataclass(frozen=True)
class ParagraphBlock:
    """A paragraph; `style` is `how` where it explains what stands beside it, `data` where it is a text of the data."""

    said: Said
    style: str = "how"
    id: str = ""


@dataclass(frozen=True)
class CautionNotes:
    """What to know before trusting a number: a `title`, its notes, and `more` below them."""

    notes: tuple[Said, ...]
    title: str = "Read with care."
    more: tuple[Said, ...] = ()


@dataclass(frozen=True)
class BulletList:
    """A list; with `places` an ordered one, each item by its own."""

    items: tuple[Said, ...]
    style: str = "how"
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class DefinedTerm:
    """A word with what it `means`; `id` is its address."""

    title: Said
    means: Said
    id: str = ""


@dataclass(frozen=True)
class TermDefinitions:
    """Words with what each means."""

    terms: tuple[DefinedTerm, ...]


@dataclass(frozen=True)
class DrawingLegend:
    """The legend of a drawing: each background's class and what it stands for."""

    signs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figure:
    """A drawing with its title; `summary` says what is seen to those who do not see it, `legend` what its lines are."""

    title: str
    drawing: Markup
    summary: str
    small: str = ""
    id: str = ""
    legend: tuple[Said, ...] = ()


@dataclass(frozen=True)
class TableCell:
    """A cell: its text, what stands `small` under it, its value (and interval) for sorting and CSV, why a value is
    missing. Its `step` of a heat is 1 to 5, on the wrong side of what should be -1 to -5; `style` is a class, `span`
    how many columns it takes, `title` what is told of it besides."""

    text: Said
    small: str = ""
    exact: str = ""
    step: int = 0
    why: str = ""
    bold: bool = False
    style: str = ""
    span: int = 1
    title: str = ""


@dataclass(frozen=True)
class LabelledTableRow:
    """A row by its label; `kind` gives it a sign, `title` is what the label stands for. Lines of one `group` stand
    under its name."""

    label: Said
    entries: tuple[TableCell, ...]
    kind: Kind | None = None
    style: str = ""
    title: str = ""
    group: str = ""
    id: str = ""


@dataclass(frozen=True)
class Column:
    """A column by its title; under it the ends of its `scale`. Its `style` is `num` on the right, `wrap` where a text
    may take several lines; without one it is `num` where cells have values."""

    title: Said
    scale: LinearScale | None = None
    style: str | None = None
    group: str = ""
    labels: int = 2


def make_number_columns(*titles: str) -> tuple[Column, ...]:
    """Columns of numbers by their titles."""
    return tuple(Column(title, style="num") for title in titles)


@dataclass(frozen=True)
class Table:
    """The table. `heading` is what its rows are, and stands at the place `at` of a row. Its `style` is `heat` where
    cells have a ground by their step, `marks` where it is a small one in a panel. `export` is `yes`, `copy` for all but
    CSV, or nothing; `digits` are the decimals of its LaTeX."""

    id: str
    title: str
    heading: Said
    columns: tuple[str | Column, ...]
    lines: tuple[LabelledTableRow, ...]
    style: str = "values grid lines"
    digits: int = 2
    is_titled: bool = True
    is_sortable: bool = True
    has_filter: bool = False
    has_latex: bool = False
    export: str = "yes"
    caption: str = ""
    at: int = 0
    note: Said = ""
    foot: tuple[LabelledTableRow, ...] = ()

    @classmethod
    def of(
        cls, id: str, heads: Iterable[str | Column], rows: Iterable[Sequence[Said | TableCell]], at: int = 0
    ) -> Table:
        """Make a table of `rows` under `heads`, in which the cell `at` a place names its row."""
        lines = []
        for row in rows:
            cells = [entry if isinstance(entry, TableCell) else TableCell(entry) for entry in row]
            lines.append(LabelledTableRow(cells.pop(at).text, tuple(cells)))
        columns = [*heads]
        heading = columns.pop(at)
        title = heading.title if isinstance(heading, Column) else heading
        return cls(id, "", title, tuple(columns), tuple(lines), at=at)

    @property
    def is_heatmap(self) -> bool:
        """Whether the table's cells are coloured as a heatmap."""
        return self.style.startswith("heat")

    @property
    def heads(self) -> tuple[Column, ...]:
        """The table's columns, each with its style."""
        every = (column if isinstance(column, Column) else Column(column) for column in self.columns)
        return tuple(
            column
            if column.style is not None
            else Column(column.title, column.scale, self._choose_column_alignment(i), column.group, column.labels)
            for i, column in enumerate(every)
        )

    def _choose_column_alignment(self, place: int) -> str:
        """Choose how a column is aligned: values, and reasons for missing ones, on the right."""
        if self.is_heatmap:
            return ""
        entries = (line.entries[place] for line in self.lines if place < len(line.entries))
        return "num" if any(entry.exact or entry.why for entry in entries) else ""

    @property
    def groups(self) -> Iterator[tuple[str, list[LabelledTableRow]]]:
        """The table's lines by their group."""
        return ((name, list(lines)) for name, lines in groupby(self.lines, key=lambda line: line.group))

    @property
    def column_groups(self) -> Iterator[tuple[str, int]]:
        """The names over columns, with how many each spans; nothing where no column has one."""
        if any(head.group for head in self.heads):
            yield from ((name, len(list(same))) for name, same in groupby(head.group for head in self.heads))


@dataclass(frozen=True)
class RightOrWrongPassage:
    """A passage of a list; `is_right` where it answers the question."""

    id: str
    text: str
    is_right: bool


@dataclass(frozen=True)
class QuestionGridRow:
    """A question of a grid: for each system the place of the right passage (0: not among the first), the `step` of its
    ground; what the systems have first, one after the other where they have the same; `answer` where nobody has it."""

    text: str
    outcome: str
    tag: str
    document: str
    ranks: tuple[tuple[int, int], ...]
    first: tuple[tuple[str, tuple[RightOrWrongPassage, ...]], ...]
    answer: RightOrWrongPassage | None = None


@dataclass(frozen=True)
class QuestionTopResultsGrid:
    """Questions by systems, with what each has first one click away. `outcomes` are the filter's choices: value, words
    and how many."""

    id: str
    title: str
    systems: tuple[str, ...]
    rows: tuple[QuestionGridRow, ...]
    outcomes: tuple[tuple[str, str, int], ...]
    note: str = ""


@dataclass(frozen=True)
class TabbedBlocks:
    """Blocks that stand one after the other under their titles; a script shows one at a time, and a field called
    `label` to choose it."""

    label: str
    panes: tuple[tuple[str, tuple[Block, ...]], ...]


@dataclass(frozen=True)
class CollapsibleBlocks:
    """Blocks that stand one click away."""

    summary: Said
    blocks: tuple[Block, ...]
    id: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class StyledBlockGroup:
    """Blocks side by side (`two`, `panels`), or apart from what surrounds them (`panel`)."""

    style: str
    blocks: tuple[Block, ...]


Block = (
    PageFactsLine
    | VerdictText
    | Heading
    | ParagraphBlock
    | CautionNotes
    | BulletList
    | TermDefinitions
    | DrawingLegend
    | Figure
    | Table
    | TabbedBlocks
    | CollapsibleBlocks
    | StyledBlockGroup
    | QuestionTopResultsGrid
)


STEPS = 5
"""Of a heat."""


def make_result_cell(
    row: ResultRow | None,
    unit: MeasureFormat,
    *,
    n: bool = False,
    heat: float = 0.0,
    bold: bool = False,
    signed: bool = False,
) -> TableCell:
    """A result as a cell: its value over its interval, or with `n` over how many items stand behind it; its reason
    where it has no value. `heat` is the value of the darkest step; a `signed` value is a change."""
    if row is None:
        return TableCell("n/a", why="not part of the run")
    if row.value is None:
        return TableCell("n/a" if row.n == 0 or not n else f"n = {row.n}", why=row.reason or "no value was recorded")
    bounded = row.ci_low is not None and row.ci_high is not None
    interval = unit.interval(row.ci_low or 0.0, row.ci_high or 0.0) if bounded else "no interval"
    words = [row.value, *((row.ci_low, row.ci_high) if bounded else ())]
    return TableCell(
        unit.change(row.value) if signed else unit.text(row.value),
        f"n = {numbers.format_count(row.n)}" if n else interval,
        # What a page sorts by and copies: the value, and the ends of its interval.
        ",".join(f"{(word or 0.0) * unit.factor:.6g}" for word in words),
        choose_heat_step(row.value / heat) if heat else 0,
        bold=bold,
    )


def append_bracketed_interval(text: str, interval: str) -> str:
    """A value with its interval in brackets, where it has one."""
    return f"{text} ({interval})" if interval else text


def choose_heat_step(share: float) -> int:
    """The step of a heat, 1 to 5, of a share of the darkest."""
    return min(STEPS, max(1, 1 + int(share * STEPS)))


def choose_diverging_heat_step(off: float) -> int:
    """The step of a heat around what should be, -5 to 5: below 0 on the wrong side, 0 where it is as it should be."""
    if abs(off) < 0.005:
        return 0
    return min(STEPS, 1 + int(abs(off) * STEPS)) * (1 if off > 0 else -1)


_NUMBER = re.compile(r"(\d+)")


def file_tables(run: Path, names: str = "*") -> tuple[Table, ...]:
    """The tables of a run whose file names match, as it wrote them, those with a number first, in its order; nothing
    where none does."""
    paths = sorted((run / "tables").glob(f"{names}.md"), key=_make_table_file_sort_key)
    tables = (_read_markdown_table(path) for path in paths)
    return tuple(table for table in tables if table is not None and table.lines)


def _make_table_file_sort_key(path: Path) -> tuple[bool, int, str]:
    number = _NUMBER.search(path.stem)
    return number is None, int(number[1]) if number else 0, path.stem


def _read_markdown_table(path: Path) -> Table | None:
    lines = path.read_text("utf-8", errors="replace").splitlines()
    title = next((line.strip("* ") for line in lines if line.startswith("**")), path.stem)
    rows = [_split_markdown_cells(line) for line in lines if line.startswith("|")]
    if len(rows) < 3 or not all(rows):
        return None
    (heading, *columns), (_, *rules) = rows[:2]
    exact = _read_exact_csv_numbers(path.with_suffix(".csv"), rows[0])
    body = []
    for place, (label, *cells) in enumerate(rows[2:]):
        values = exact[place] if place < len(exact) and len(exact[place]) == len(cells) else [""] * len(cells)
        entries = tuple(
            TableCell(_strip_cell_markdown(cell), exact=value) for cell, value in zip(cells, values, strict=True)
        )
        body.append(LabelledTableRow(label.strip("*"), entries))
    last = max(i for i, line in enumerate(lines) if line.startswith("|"))
    note = " ".join(line for line in lines[last + 1 :] if line)
    return Table(
        path.stem.replace("_", "-"), title, heading,
        tuple(Column(name, style="" if rules[i : i + 1] == ["---"] else "num") for i, name in enumerate(columns)),
        tuple(body), "paper filed", 3, is_titled=False, is_sortable=False, has_latex=True, export="copy", note=note
    )  # fmt: skip


def build_collapsible_table(table: Table, most: int = 300) -> Block:
    """A table of a run one click away; one of more than `most` lines is only named."""
    if len(table.lines) <= most:
        return CollapsibleBlocks(table.title, (table,))
    file = CommandInSentence(f"tables/{table.id.replace('-', '_')}.csv")
    return ParagraphBlock((f"{table.title}: {len(table.lines)} rows, in ", file, "."))


def _split_markdown_cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _strip_cell_markdown(cell: str) -> str:
    """A cell without Markdown's marks, its true minus sign put in."""
    text = cell.replace("<br>", "\n").strip("*")
    return re.sub(r"(?<![\w.])-(?=\d)", numbers.MINUS, text)


def _read_exact_csv_numbers(path: Path, heads: Sequence[str]) -> list[list[str]]:
    """The numbers of every row but those of its label, where the CSV has the same columns; else nothing."""
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            rows = list(csv.reader(stream))
    except csv.Error:
        return []
    if not rows or [name.casefold() for name in rows[0]] != [name.casefold() for name in heads]:
        return []
    return [[cell if is_number(cell) else "" for cell in row[1:]] for row in rows[1:]]
