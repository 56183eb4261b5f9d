"""The page of a judge run: who follows gold scores best, where ratings err, how length matters (tables 2 and 3,
figures 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from embassay.document.blocks import (
    Block,
    Facts,
    Figure,
    Heading,
    Line,
    Part,
    Sentence,
    Table,
    Text,
    Verdict,
    listed,
)
from embassay.document.marks import scale_of
from embassay.document.plots import Series, lines
from embassay.document.tables import entry, file_tables, folded
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS, Unit
from embassay.records import Result
from embassay.report.board import Board, Row, name
from embassay.report.record import Record
from embassay.report.runs import Run

TASK, SCORE, ERROR = "judge", "spearman", "mae"
MEAN_OF_JUDGES = "mean of judges"
RATING = Unit(1.0, 2, 2)
MOST_NAMES = 3


def judge_page(run: Run, alone: bool) -> Iterator[Block]:
    """The page of a run."""
    del alone
    record, judges = run.record, in_order(run.record, run.board)
    yield Facts.of(
        "judge", "PTEB, step 1", numbers.counted(len(judges), "judge"),
        numbers.counted(len(record.datasets(TASK)), "dataset"),
    )  # fmt: skip
    yield judge_verdict(record, run.board)
    yield Heading("Who follows gold scores")
    bold = (
        f" Bold: the best and all that cannot be told apart from it ({record.correction.capitalize()}, "
        f"α = {record.alpha})."
    )
    yield Text(
        "Spearman correlation of a judge’s ratings with the gold scores, × 100; higher is better. Under it the 95% "
        "interval (bootstrap over pairs). Error: mean distance of rating and gold, both from 0 to 5; lower is better."
        + (bold if record.scope(TASK).pairs else "")
    )
    yield judge_scores(record, run.board)
    yield from _where_ratings_err(record, judges)
    if bins := _bins(record, SCORE):
        yield Heading("Does length matter?")
        yield Text("Pairs by their mean number of words. Too few pairs for a correlation: n alone.")
        yield _by_words(record, judges, bins)
    yield from map(folded, file_tables(record.path, "pteb_table3"))


def _where_ratings_err(record: Record, judges: Sequence[Row]) -> Iterator[Block]:
    if not (gold := _bins(record, ERROR)):
        return
    yield Heading("Where ratings err")
    yield Text(
        "Mean distance of rating and gold by gold score, all datasets pooled; band: 95%. At most four judges, the "
        "first in order; all are in the table."
    )
    series = _series(record, judges, gold)
    if any(one.points for one in series):
        yield Figure("Error by gold score", _chart(series, gold), _summary(series))
    yield _errors(record, judges, gold)


def judge_verdict(record: Record, board: Board) -> Verdict:
    """The verdict on the judges."""
    judges = [row for row in in_order(record, board) if _score(record, row).value is not None]
    if not judges:
        return Verdict(("No judge has a score on every dataset",), ())
    lede: list[Sentence] = [_values(record, judges)]
    if len(judges) == 1:
        score = POINTS.said(_score(record, judges[0]).value or 0.0)
        return Verdict((name(judges[0]), f" follows gold scores at {score} of 100"), tuple(lede))
    first = [board.row(one) for one in record.scope(TASK).first]
    if len(first) == 1:
        return Verdict((name(first[0]), " follows gold scores best"), tuple(lede))
    if not first:
        return Verdict((f"{len(judges)} judges follow gold scores; no test compares them",), tuple(lede))
    return Verdict(
        (f"{numbers.in_words(len(first)).capitalize()} judges may be the one that follows gold best",),
        tuple(lede),
    )


def in_order(record: Record, board: Board) -> list[Row]:
    """The systems of the board, best first, then those without a score."""
    order = {name: place for place, name in enumerate(record.scope(TASK).systems)}
    return sorted(board.rows, key=lambda row: order.get(row.system.name, len(order)))


def _score(record: Record, row: Row) -> Result:
    found = record.find(TASK, row.system.name, SCORE)
    return found or Result(
        "pteb", TASK, "", "", "", "", row.system.name, SCORE, None, 0, reason="not run yet"
    )


def _values(record: Record, judges: Sequence[Row]) -> Sentence:
    parts: list[Part] = []
    for i, row in enumerate(judges[:MOST_NAMES]):
        found = _score(record, row)
        ends = ""
        if found.ci_low is not None and found.ci_high is not None:
            ends = (
                f" ({'95% interval ' if i == 0 else ''}{POINTS.said_interval(found.ci_low, found.ci_high)})"
            )
        parts += ["; " if i else "", name(row), f" {POINTS.said(found.value or 0.0)}{ends}"]
    return ("Spearman correlation with gold, × 100, mean over datasets: ", *parts, ".")


def _bins(record: Record, measure: str) -> list[str]:
    """The variants of a measure, in the order of the rows."""
    found = (key[3] for key in record.rows if key[0] == TASK and key[5] == measure and key[3])
    return list(dict.fromkeys(found))


def judge_scores(record: Record, board: Board) -> Table:
    """Every judge on every dataset, best first."""
    best = record.scope(TASK).best
    names = record.datasets(TASK)
    lines_of = tuple(
        Line(
            row.label,
            (
                entry(record.find(TASK, row.system.name, SCORE), POINTS, bold=row.system.name in best),
                *(entry(record.find(TASK, row.system.name, SCORE, dataset=one), POINTS) for one in names),
                entry(record.find(TASK, row.system.name, ERROR), RATING),
                entry(record.find(TASK, row.system.name, "failed"), Unit(100.0, 1, 1)),
            ),
            "llm",
        )
        for row in in_order(record, board)
    )
    columns = ("Mean", *names, "Error, 0 to 5", "Failed ratings, %")
    return Table("judge-scores", "Spearman correlation with gold, × 100", "Judge", columns, lines_of)


def _series(record: Record, judges: Sequence[Row], gold: Sequence[str]) -> list[Series]:
    made = []
    for row in judges:
        found = [(_middle(one) / 5, record.find(TASK, row.system.name, ERROR, variant=one)) for one in gold]
        made.append(
            Series(
                row.label, tuple((at, one) for at, one in found if one is not None and one.value is not None)
            )
        )
    return made


def _middle(variant: str) -> float:
    """The middle of a bin: `gold=[1,2)` lies at 1.5."""
    low, high = variant.partition("=")[2].strip("[)]").split(",")
    return (float(low) + float(high)) / 2


def _chart(series: Sequence[Series], gold: Sequence[str]) -> Markup:
    values = [end for one in series for _, row in one.points for end in (row.value, row.ci_low, row.ci_high)]
    y = scale_of([0.0, *(end for end in values if end is not None)], within=(0.0, 5.0))
    ticks = [(_middle(one) / 5, one.partition("=")[2]) for one in gold]
    return lines(series, ticks, y, "gold score, 0 to 5")


def _summary(series: Sequence[Series]) -> str:
    ends = listed(
        [f"{one.name} {RATING.text(one.points[-1][1].value or 0.0)}" for one in series if one.points]
    )
    return f"Mean absolute error of the ratings by gold score. At the highest gold scores: {''.join(map(str, ends))}."


def _errors(record: Record, judges: Sequence[Row], gold: Sequence[str]) -> Table:
    rows = [(row, [record.find(TASK, row.system.name, ERROR, variant=one) for one in gold]) for row in judges]
    most = max((one.value or 0.0 for _, of in rows for one in of if one is not None), default=1.0) or 1.0
    lines_of = tuple(
        Line(row.label, tuple(entry(one, RATING, n=True, heat=most) for one in of), "llm") for row, of in rows
    )
    columns = tuple(one.partition("=")[2] for one in gold)
    return Table(
        "judge-errors",
        "Mean absolute error by gold score",
        "Judge",
        columns,
        lines_of,
        style="heat grid lines",
    )


def _by_words(record: Record, judges: Sequence[Row], bins: Sequence[str]) -> Table:
    whole = MEAN_OF_JUDGES if len(judges) > 1 else judges[0].system.name
    places = [*((one, one) for one in record.datasets(TASK)), ("All datasets", "")]
    lines_of = tuple(
        Line(
            label,
            tuple(
                entry(record.find(TASK, whole, SCORE, dataset=one, variant=words), POINTS, n=True, heat=1.0)
                for words in bins
            ),
        )
        for label, one in places
    )
    columns = tuple(f"{one.partition('=')[2]} words" for one in bins)
    who = "mean of the judges" if len(judges) > 1 else judges[0].label
    return Table(
        "judge-words",
        f"Spearman × 100 by length of the pair, {who}",
        "Dataset",
        columns,
        lines_of,
        style="heat grid lines",
    )
