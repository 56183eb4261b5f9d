"""The page that chooses a paraphraser: meaning kept, words changed, time taken, and the rule (tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from embassay.document.blocks import Block, Entry, Facts, Figure, Heading, Line, Table, Text, Verdict
from embassay.document.marks import Scale, scale_of
from embassay.document.plots import Axis, Point, scatter
from embassay.document.tables import entry, file_tables, folded
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import Unit
from embassay.protocols.pteb.selection.choice import Candidate, Rule, Selection, select
from embassay.report.board import Board, Row, name
from embassay.report.pteb.judges import RATING
from embassay.report.record import Record, labels
from embassay.report.runs import Run

TASK, SIMILARITY, DISTANCE, SECONDS = "paraphrasers", "similarity", "edit_distance", "seconds"
PERCENT = Unit(100.0, 1, 1)


def selection_page(run: Run, alone: bool) -> Iterator[Block]:
    """The page of a run."""
    del alone
    record, board = run.record, run.board
    _, rule = _chosen(record)
    known = [row for row in board.rows if None not in _place(record, row)]
    yield Facts.of(
        "paraphrasers", "PTEB, step 2", numbers.counted(len(board.rows), "candidate"),
        numbers.counted(len(record.datasets(TASK)), "dataset"),
    )  # fmt: skip
    yield selection_verdict(record, board)
    yield Heading("Meaning kept against words changed")
    yield Text(str(rule))
    if known:
        said = "; ".join(_said(record, row) for row in known)
        chart = _chart(record, known, rule)
        yield Figure("Similarity against edit distance", chart, said, "means over datasets")
    yield Text(
        "Similarity: what the judge says of text and paraphrase, 0 to 5. Edit distance: words changed, over the longer "
        "of the two; a copy has 0. Under each value its 95% interval. On the front: no other candidate is better in "
        "all three criteria."
    )
    yield candidates(record, board)
    if judges := _judges(record, board.rows):
        yield judges
    if len(record.datasets(TASK)) > 1:
        yield _by_dataset(record, board.rows)
    yield from map(folded, file_tables(record.path, "pteb_table[45]"))


def selection_verdict(record: Record, board: Board) -> Verdict:
    """Who is chosen, and why; that nobody is, and why."""
    chosen, _ = _chosen(record)
    if not chosen.selected:
        why = "; ".join(f"{board.row(one).label}: {reason}" for one, reason in chosen.rejected.items())
        return Verdict(("The rule chooses no paraphraser",), ((f"{chosen.because.capitalize()}. {why}.",),))
    row = board.row(chosen.selected)
    front = ", ".join(board.row(one).label for one in chosen.front)
    why = f"It has {chosen.because}. No other candidate is better in all three criteria than {front}."
    return Verdict((name(row), " is the paraphraser that the rule chooses"), ((why,),))


def _rule(record: Record) -> Rule:
    options = record.arguments.get("options") or {}
    return Rule(options.get("least_similarity", 4.0), options.get("least_edit_distance", 0.1))


def _chosen(record: Record) -> tuple[Selection, Rule]:
    rule = _rule(record)
    return select([_candidate(record, system.name) for system in record.systems], rule), rule


def _candidate(record: Record, system: str) -> Candidate:
    rows = {one: record.find(TASK, system, one) for one in (SIMILARITY, DISTANCE, SECONDS)}
    reasons = [row.reason for row in rows.values() if row is not None and row.value is None]
    similarity, distance, seconds = (None if row is None else row.value for row in rows.values())
    return Candidate(system, similarity, distance, seconds, next(iter(reasons), ""))


def _place(record: Record, row: Row) -> tuple[float | None, float | None]:
    system = row.system.name
    return record.value(TASK, system, DISTANCE), record.value(TASK, system, SIMILARITY)


def _chart(record: Record, rows: Sequence[Row], rule: Rule) -> Markup:
    places = [(row, *_place(record, row)) for row in rows]
    points = [Point(x or 0.0, y or 0.0, "llm", row.label) for row, x, y in places]
    lowest = min(rule.similarity, *(point.y for point in points))
    across = Axis(Scale(0.0, 1.0, 0.2), "edit distance: more words changed →", rule.edit_distance, "copies")
    up = Axis(
        scale_of([lowest, 5.0], within=(0.0, 5.0)), "similarity to the text, 0 to 5", rule.similarity,
        f"the rule: at least {rule.similarity:g}",
    )  # fmt: skip
    return scatter(points, across, up)


def _said(record: Record, row: Row) -> str:
    x, y = _place(record, row)
    return f"{row.label}: similarity {RATING.text(y or 0.0)}, edit distance {RATING.text(x or 0.0)}"


def candidates(record: Record, board: Board) -> Table:
    """Every candidate by the criteria, and what the rule says of it."""
    chosen, _ = _chosen(record)
    measures = (
        (SIMILARITY, RATING),
        (DISTANCE, RATING),
        (SECONDS, RATING),
        ("copied", PERCENT),
        ("failed", PERCENT),
    )
    made = []
    for row in board.rows:
        system = row.system.name
        is_chosen = system == chosen.selected
        told = "✓ chosen" if is_chosen else chosen.rejected.get(system, "another changes more words")
        cells = [entry(record.find(TASK, system, one), unit, bold=is_chosen) for one, unit in measures]
        front = Entry("yes" if system in chosen.front else "no")
        made.append(Line(row.label, (*cells, front, Entry(told)), "llm"))
    columns = (
        "Similarity, 0 to 5", "Edit distance", "Seconds per text", "Copies, %", "Not usable, %", "On the front",
        "By the rule",
    )  # fmt: skip
    return Table(
        "candidates",
        "Candidates by the three criteria, means over datasets",
        "Candidate",
        columns,
        tuple(made),
    )


def _by_dataset(record: Record, rows: Sequence[Row]) -> Table:
    names = record.datasets(TASK)
    made = tuple(
        Line(
            row.label,
            tuple(
                entry(record.find(TASK, row.system.name, SIMILARITY, dataset=one), RATING) for one in names
            ),
            "llm",
        )
        for row in rows
    )
    return Table("candidates-datasets", "Similarity by dataset", "Candidate", names, made)


def _judges(record: Record, rows: Sequence[Row]) -> Table | None:
    """What each judge says of the candidates it rated, mean over datasets; None for one judge."""
    variants = dict.fromkeys(
        key[3]
        for key in record.rows
        if key[0] == TASK and key[5] == SIMILARITY and key[3].startswith("judge=")
    )
    if not variants:
        return None
    found = {
        (row.label, one): record.find(TASK, row.system.name, SIMILARITY, variant=one)
        for row in rows
        for one in variants
    }
    rated = [row for row in rows if any(found[row.label, one] is not None for one in variants)]
    label = labels([one.partition("=")[2] for one in variants])
    made = tuple(
        Line(
            label[one.partition("=")[2]], tuple(entry(found[row.label, one], RATING) for row in rated), "llm"
        )
        for one in variants
    )
    return Table(
        "cross-judges", "Similarity as other judges see it", "Judge", tuple(row.label for row in rated), made
    )
