"""A human check on a crowd platform: files that MTurk and Prolific take, and what they give back, filtered.

Out goes a file per language, with two dummies in every batch: for MTurk a line per HIT and the page that shows it, for
Prolific's task builder a line per pair, batches as its task groups. Back come MTurk's batch results, the task builder's
report or a table of Prolific's participants and ratings, either with its export of submissions; what passes the filters
becomes a rating file.

Sources: docs.aws.amazon.com (Requester, publishing and downloading batches; a page of `crowd-form` gives all of its
answers as JSON in the column Answer.taskAnswers); docs.prolific.com (AI Task Builder, datasets: columns that begin with
META_ are not shown; the report of a batch, which is the dataset with the answers beside it; states of a submission; the
export of submissions, whose columns are Submission id, Participant id, Status, Time taken and demographics); of the
report's columns the example in Prolific's own repository prolific-ai-task-builder-getting-started. The archive (ZIP) of
a batch holds the same answers as JSON, whose fields are published nowhere: it is refused.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal

from embassay.data.rows import (
    LIKE,
    SourceRow,
    escape_spreadsheet_formula,
    find_nearest_name,
    unescape_spreadsheet_formula,
)
from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json
from embassay.protocols.kernel.tables import format_csv_sheet, format_noun_count
from embassay.protocols.pteb.options import RatingBatchOptions, SubmissionFilters
from embassay.protocols.pteb.validation.raters import read_rating_cell
from embassay.protocols.pteb.validation.study import RATERS, DrawnStudy
from embassay.protocols.wordings.pairs import (
    PairToRate,
    group_pairs_by_language,
    make_rating_sheet,
    open_rating_table,
    read_stripped_cell,
    write_rating_table,
)
from embassay.randomness import draw_random_bytes
from embassay.runs.folder import slugify_name, write_file_atomically

Platform = Literal["mturk", "prolific"]
LEFT_OUT = {
    "rejected", "returned", "timed-out", "timed out", "partial", "screened out", "reserved", "active", "unpublished"
}  # fmt: skip
"""States of a submission whose ratings do not count."""
COUNTED = {"", "submitted", "approved", "awaiting review", "partially approved", "processing"}
PERSON = ("WorkerId", "Participant id", "participant_id", "PROLIFIC_PID")
PAIR = ("META_pair_id", "pair_id")
SUBMISSION = ("Submission id", "submission_id", "session_id", "AssignmentId")
STATUS = ("AssignmentStatus", "Status")
TIME = ("WorkTimeInSeconds", "Time taken", "time_taken")
TASK_ANSWERS = "Answer.taskAnswers"
RATING = "Answer.rating_"
ANNOTATOR, RESPONSE = re.compile(r"Annotator\d+_ID"), "_Response"
"""Of a task builder's report, with a line per pair and question: who answered, and beside it what."""
PILOT = "pilot"


@dataclass
class AcceptedCrowdRatings:
    """The ratings that count, as rows of a rating file, and how many submissions were left out, by reason."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def draw_rating_batches(items: Sequence[PairToRate], how: RatingBatchOptions, seed: int) -> list[list[PairToRate]]:
    """The pairs of one language in batches, all dummies in each, in an order that depends on the seed alone.

    UsageError where nothing is left after a pilot.
    """
    pairs = sorted(
        (item for item in items if not item.is_dummy),
        key=lambda item: draw_random_bytes(8, seed, "crowd", item.pair_id),
    )
    pairs = pairs[: how.pilot] if how.pilot else pairs[how.after_pilot :]
    if not pairs:
        raise UsageError(
            f"No pairs in {items[0].lang} are left after a pilot of {how.after_pilot}.", mend="Draw a larger study."
        )
    dummies = [item for item in items if item.is_dummy]
    # All dummies in each batch, since a person may do one batch only and has to be checked by it.
    return [[*pairs[at : at + how.batch], *dummies] for at in range(0, len(pairs), how.batch)]


def write_platform_batches(study: DrawnStudy, platform: Platform, how: RatingBatchOptions, out: Path) -> list[Path]:
    """Write what a platform takes, a file per language, with instructions; where they are."""
    written = []
    for lang, items in group_pairs_by_language(study.items).items():
        made = draw_rating_batches(items, how, study.seed)
        name = f"{platform}-{slugify_name(lang)}{f'-{PILOT}' if how.pilot else ''}"
        shown = [make_rating_sheet(batch, f"{name}-{number}", study.seed) for number, batch in enumerate(made, 1)]
        rows = _make_crowd_task_rows(shown) if platform == "mturk" else _make_task_group_rows(shown)
        written.append(_write_rows_as_csv(out / f"{name}.csv", rows))
    instructions = (study.path / RATERS / "instructions.md").read_text("utf-8")
    if platform == "mturk":
        largest = how.batch + max(
            sum(item.is_dummy for item in batch) for batch in group_pairs_by_language(study.items).values()
        )
        write_file_atomically(out / "mturk.html", _render_hit_layout(largest, instructions))
        written.append(out / "mturk.html")
    else:
        write_file_atomically(out / "instructions.md", instructions)
        written.append(out / "instructions.md")
    return written


def read_crowd_ratings(
    files: Iterable[Path], items: Mapping[str, PairToRate], filters: SubmissionFilters, submissions: Sequence[Path] = ()
) -> AcceptedCrowdRatings:
    """The ratings in a platform's files that pass the filters. `submissions` are Prolific's exports, with a line per
    person.

    A dummy that a person saw in several batches counts once, by the rating that is farthest from the expected one.
    DataError, with file and line, for a table of neither platform, a pair of another study and a rating off the scale.
    """
    people = _collect_submissions_by_person(submissions) if submissions else None
    kept, by_key = AcceptedCrowdRatings(), dict[tuple[str, str], dict[str, Any]]()
    for path in files:
        rows = list(_read_crowd_rows(path, filters))
        # Of MTurk a row is a submission; of Prolific all rows of a person are.
        sizes = Counter(unescape_spreadsheet_formula(_read_first_named_cell(row, PERSON)) for row in rows)
        for row in rows:
            _collect_crowd_ratings_of_row(row, people, items, filters, kept, by_key, sizes)
    kept.rows = list(by_key.values())
    return kept


def _read_crowd_rows(path: Path, filters: SubmissionFilters) -> Iterator[SourceRow]:
    """The rows of a file of either platform, if it has what its ratings are read from."""
    source = open_rating_table(path)
    columns = source.columns()
    if any(ANNOTATOR.fullmatch(name) for name in columns):
        yield from _read_crowd_report_rows(path, source.rows(columns), filters)
        return
    turk = _find_column(columns, ("Input.pair_1",))
    if not _find_column(columns, PERSON) or not (turk or _find_column(columns, PAIR)):
        raise DataError(
            "the file is not an MTurk or Prolific table", path=path, line=1, found=", ".join(columns[:8]),
            expected="WorkerId with Input.pair_1, or Participant id with META_pair_id",
            mend="Pass the batch results as downloaded."
        )  # fmt: skip
    rated = any(name.startswith((RATING, TASK_ANSWERS)) for name in columns) if turk else filters.rating in columns
    if not rated:
        likely = find_nearest_name(filters.rating, columns, LIKE) or "NAME"
        named = "." if turk else f", or name the column: --rating {shlex.quote(likely)}"
        raise DataError(
            "no column contains ratings", path=path, line=1, found=", ".join(columns[-8:]),
            expected=f"{RATING}1 or {TASK_ANSWERS}" if turk else filters.rating,
            mend=f"Pass results that include the answers{named}"
        )  # fmt: skip
    yield from source.rows(columns)


def _read_crowd_report_rows(path: Path, rows: Iterable[SourceRow], filters: SubmissionFilters) -> Iterator[SourceRow]:
    """The rows of a task builder's report, one for each person who answered.

    DataError for a report without the pairs' ids, and for one with several questions: which is the rating?
    """
    asked: dict[str, SourceRow] = {}
    for row in rows:
        if _find_column(row.cells, PAIR) is None:
            raise DataError(
                "the report does not identify the pair of each line", path=path, line=1,
                found=", ".join(list(row.cells)[:8]), expected=PAIR[0],
                mend="Pass the report of a batch whose dataset is the file from `validate crowd`."
            )  # fmt: skip
        # A report has the questions as lines: with one it is the rating, with several nobody says which.
        asked.setdefault(read_stripped_cell(row, "Question"), row)
        if len(asked) > 1:
            raise DataError(
                "the report has answers to several questions", path=path, line=row.line, found=" | ".join(asked),
                mend="Keep only the lines of the rating question."
            )  # fmt: skip
        fields = {name: value for name, value in row.cells.items() if not name.startswith("Annotator")}
        for name in row.cells:
            if ANNOTATOR.fullmatch(name) and read_stripped_cell(row, name):
                answer = row.cells.get(name.removesuffix("_ID") + RESPONSE)
                yield SourceRow(row.path, row.line, {**fields, PERSON[1]: row.cells[name], filters.rating: answer})


def _find_column(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The first of the names that is a column, in whatever case and with whatever blanks around it."""
    held = {name.strip().lower(): name for name in columns}
    return next((held[name.lower()] for name in names if name.lower() in held), None)


def _read_first_named_cell(row: SourceRow, names: Sequence[str]) -> str:
    column = _find_column(row.cells, names)
    return "" if column is None else read_stripped_cell(row, column)


def write_kept_ratings(path: Path, kept: AcceptedCrowdRatings) -> None:
    """The ratings that count as a rating file, which `validate score` reads. DataError where there are none: an empty
    file would take the place of what was collected before."""
    if not kept.rows:
        raise DataError(
            "No ratings are left", expected="ratings that count",
            found=", ".join(f"{format_noun_count(n, 'row')}: {reason}" for reason,
                n in kept.left_out.items()) or "none",
            mend="Relax the filters, or pass this study's files. Nothing was written."
        )  # fmt: skip
    write_rating_table(path, kept.rows, columns=("pair_id", "lang", "rater_id", "rating"))


def _collect_crowd_ratings_of_row(
    row: SourceRow, people: Mapping[str, CrowdSubmission] | None, items: Mapping[str, PairToRate],
    filters: SubmissionFilters,
    kept: AcceptedCrowdRatings, by_key: dict[tuple[str, str], dict[str, Any]], sizes: Mapping[str, int]
) -> None:  # fmt: skip
    person = unescape_spreadsheet_formula(_read_first_named_cell(row, PERSON))
    if not person:
        raise DataError("the row has no participant", path=row.path, line=row.line, mend="Delete the line.")
    rated, submission = list(_list_row_pairs_with_ratings(row, items, filters)), CrowdSubmission.of(row)
    if people is not None and person not in people:
        kept.left_out["not among the submissions"] += 1
        return
    about = submission.merge_exported_submission(people[person]) if people is not None else submission
    if reason := about.reason(len(rated) if _find_column(row.cells, ("WorkerId",)) else sizes[person], filters):
        kept.left_out[reason] += 1
        return
    for item, value in rated:
        key, before = (person, item.pair_id), by_key.get((person, item.pair_id))
        # Dummies are in every batch; a pair proper that comes twice is a file that was given twice.
        if before is not None and not item.is_dummy:
            raise DataError(
                f"{person} has already rated the pair {item.pair_id}", path=row.path, line=row.line,
                mend="Pass each result file once."
            )  # fmt: skip
        worse = before is None or abs(value - (item.expected or 0)) > abs(before["rating"] - (item.expected or 0))
        if worse:
            by_key[key] = {"pair_id": item.pair_id, "rater_id": person, "rating": value, "lang": item.lang}


def _list_row_pairs_with_ratings(
    row: SourceRow, items: Mapping[str, PairToRate], filters: SubmissionFilters
) -> Iterator[tuple[PairToRate, float]]:
    """The pairs of a row with their ratings; blank ones are not rated."""
    names = [name for name in row.cells if name.startswith("Input.pair_")]
    places = [(name, f"{RATING}{name.rpartition('_')[2]}") for name in names] or [
        (_find_column(row.cells, PAIR) or PAIR[0], filters.rating)
    ]
    told = _expand_crowd_form_answers(row)
    for column, rating in places:
        pair = unescape_spreadsheet_formula(read_stripped_cell(row, column))
        if not pair:
            continue
        if pair not in items:
            raise DataError(
                f"the pair {pair!r} is not in this study", path=row.path, line=row.line,
                mend="Pass the folder whose files were sent out."
            )  # fmt: skip
        value = read_rating_cell(told, rating) if rating in told.cells else None
        if value is not None:
            yield items[pair], value


def _expand_crowd_form_answers(row: SourceRow) -> SourceRow:
    """The row with the answers of a `crowd-form` as columns of their own: it writes one list of one object."""
    text = read_stripped_cell(row, TASK_ANSWERS)
    if not text:
        return row
    try:
        document = parse_bounded_json(text)
        answers = dict(document[0] if isinstance(document, list) else document)
    except (ValueError, TypeError, IndexError):
        raise DataError(
            f"{TASK_ANSWERS} cannot be read", path=row.path, line=row.line, found=text[:60],
            expected='a list with one object, [{"rating_1": 4}]', mend="Pass the results as downloaded."
        ) from None  # fmt: skip
    cells = {f"Answer.{name}": _read_radio_choice(answer) for name, answer in answers.items()}
    return SourceRow(row.path, row.line, {**row.cells, **cells})


def _read_radio_choice(value: Any) -> Any:
    """The chosen one of radio buttons, which come as an object of booleans."""
    if isinstance(value, Mapping):
        return next((name for name, chosen in value.items() if chosen is True), "")
    return value


@dataclass(frozen=True)
class CrowdSubmission:
    """What a platform says of one: its `status` in small letters, its seconds (None: not told), all of its cells."""

    status: str
    seconds: float | None
    cells: Mapping[str, str]

    @classmethod
    def of(cls, row: SourceRow) -> CrowdSubmission:
        """Read the submission of a row; DataError, with file and line, for a bad state or time."""
        status = _read_first_named_cell(row, STATUS).lower().replace("_", " ")
        # The column that a requester marks before uploading the results again.
        status = "rejected" if _read_first_named_cell(row, ("Reject",)) else status
        if status not in LEFT_OUT | COUNTED:
            raise DataError(
                "unknown submission status", path=row.path, line=row.line, found=status,
                expected=", ".join(sorted((COUNTED | LEFT_OUT) - {""})),
                mend="Write APPROVED if the submission counts, otherwise REJECTED."
            )  # fmt: skip
        cells = {name.strip(): str(value or "").strip() for name, value in row.cells.items()}
        return cls(status, _parse_seconds(row), cells)

    def merge_exported_submission(self, exported: CrowdSubmission) -> CrowdSubmission:
        """Merge in what the export of submissions says, where that is more than the row says."""
        told = exported.seconds if exported.seconds is not None else self.seconds
        return CrowdSubmission(exported.status or self.status, told, {**self.cells, **exported.cells})

    def reason(self, pairs: int, filters: SubmissionFilters) -> str:
        """Why the submission does not count; empty where it does."""
        if self.status in LEFT_OUT:
            return self.status
        column, _, value = filters.where.partition("=")
        if filters.where and self.cells.get(column.strip(), "") != value.strip():
            return f"not {filters.where}"
        if filters.least_seconds and self.seconds is None:
            return "no time given"
        per_pair = (self.seconds or 0.0) / max(pairs, 1)
        return f"under {filters.least_seconds:g} s per pair" if per_pair < filters.least_seconds else ""


def _parse_seconds(row: SourceRow) -> float | None:
    """Seconds, also as h:mm:ss; None for an empty cell."""
    text = _read_first_named_cell(row, TIME)
    if not text:
        return None
    try:
        parts = [float(part.replace(",", ".")) for part in text.split(":")]
        # Seconds last, whether there are minutes and hours before them or not.
        seconds = math.fsum(part * 60**place for place, part in enumerate(reversed(parts)))
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise DataError(
            "the time taken cannot be read", path=row.path, line=row.line, expected="seconds, or h:mm:ss", found=text,
            mend="Correct the cell, or leave it empty."
        )  # fmt: skip
    return seconds


def _collect_submissions_by_person(files: Sequence[Path]) -> dict[str, CrowdSubmission]:
    """Person -> their submission. Who came back after one that does not count has the one that does; of several that
    count, as of several studies, the times are added. DataError for a submission that appears twice."""
    people: dict[str, CrowdSubmission] = {}
    seen: dict[str, SourceRow] = {}
    for path in files:
        source = open_rating_table(path)
        columns = source.columns()
        if _find_column(columns, PERSON) is None:
            raise DataError(
                "the submissions do not name their participants", path=path, line=1, expected=" or ".join(PERSON),
                found=", ".join(columns[:8]), mend="Pass Prolific's export of the study."
            )  # fmt: skip
        for row in source.rows(columns):
            person, number = (
                unescape_spreadsheet_formula(_read_first_named_cell(row, PERSON)),
                _read_first_named_cell(row, SUBMISSION),
            )
            if number and number in seen:
                raise DataError(
                    f"the submission {number} appears twice", path=row.path, line=row.line,
                    found=f"first on line {seen[number].line} of {seen[number].path.name}",
                    mend="Pass each export once."
                )  # fmt: skip
            seen |= {number: row} if number else {}
            people[person] = _combine_submissions_of_person(people.get(person), CrowdSubmission.of(row))
    return people


def _combine_submissions_of_person(before: CrowdSubmission | None, now: CrowdSubmission) -> CrowdSubmission:
    if before is None or before.status in LEFT_OUT:
        return now
    if now.status in LEFT_OUT:
        return before
    told = [seconds for seconds in (before.seconds, now.seconds) if seconds is not None]
    return CrowdSubmission(now.status, math.fsum(told) if told else None, {**before.cells, **now.cells})


def _make_crowd_task_rows(shown: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """A row per HIT; one that is shorter than the others has empty places."""
    most = max(map(len, shown))
    rows = []
    for batch in shown:
        row: dict[str, Any] = {"lang": batch[0]["lang"]}
        for place in range(1, most + 1):
            pair = batch[place - 1] if place <= len(batch) else {}
            row |= {f"pair_{place}": pair.get("pair_id", ""), f"text_{place}": pair.get("text", ""),
                    f"text2_{place}": pair.get("text2", "")}  # fmt: skip
        rows.append(row)
    return rows


def _make_task_group_rows(shown: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """A row per pair and batch, the batch as a task group."""
    return [
        {"META_TASK_GROUP_ID": f"batch-{number}", "META_pair_id": pair["pair_id"], "META_lang": pair["lang"],
         "text": pair["text"], "text2": pair["text2"]}
        for number, batch in enumerate(shown, 1)
        for pair in batch
    ]  # fmt: skip


def _write_rows_as_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    cells = ([escape_spreadsheet_formula(value) for value in row.values()] for row in rows)
    write_file_atomically(path, format_csv_sheet([rows[0], *cells]).encode())
    return path


def _render_hit_layout(pairs: int, instructions: str) -> str:
    """The layout of a HIT in MTurk's own elements: `${...}` is filled from the file."""
    parts = [
        f'<section><p lang="${{lang}}">${{text_{n}}}</p><p lang="${{lang}}">${{text2_{n}}}</p>'
        f'<input type="number" name="rating_{n}" min="0" max="5" step="0.5"></section>'
        for n in range(1, pairs + 1)
    ]
    return (
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>\n<crowd-form>\n<pre>'
        # MTurk fills in `${...}` wherever it stands: a dollar of the instructions must not begin one.
        + escape(instructions.replace("$", "$ "))
        + "</pre>\n" + "\n".join(parts) + "\n</crowd-form>\n"
    )  # fmt: skip
