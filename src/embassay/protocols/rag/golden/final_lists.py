"""The final lists of a golden run: read from its folder, edited by a person, exported for others to use.

CSV, or tab-separated by the name's ending, as spreadsheets read and write it. `item` names the passage whatever a
spreadsheet makes of ids; all other columns but `place`, `grade` and `remark` are for the reader and are not read back.

    export/qrels.tsv       query-id, corpus-id, score: grades 1 to 5, with a header
    export/qrels.trec      query 0 document grade (not where an id holds a blank, which TREC's format cannot)
    export/golden.jsonl    a line per graded passage: grade, places, scores, texts, where they come from
    export/beir/           corpus.jsonl, queries.jsonl and qrels/test.tsv, to retrieve from and evaluate on

The folder's judgements are gains, 0 to 4 (grade - 1, spec rag 1.1): tools that read BEIR take any score above 0 for
relevant, and grade 1 is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from embassay.data.lines import DelimitedTable, read_text_lines
from embassay.data.rows import SourceRow, escape_spreadsheet_formula, make_missing_column_error
from embassay.data.tables import find_known_suffix
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.tables import format_csv_sheet
from embassay.protocols.rag.golden.stages import SingleQueryFolder, read_json_line_rows
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import RunFolder, digest_json, format_value_as_json, write_file_atomically

EDITED = ("place", "grade", "remark")
NEEDED = ("item", *EDITED)
JUDGES = ("judge_place", "judge_grade")
"""Columns of what the judge said, left out of a blind check."""
ENDINGS = (".csv", ".tsv")

_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)?")


@dataclass(frozen=True)
class FinalListPassage:
    """A passage of a final list: its place (1 = best) and grade by the judge (None where it gave none), its text."""

    doc_id: str
    place: int
    grade: int | None
    text: str


@dataclass(frozen=True)
class QuestionFinalList:
    """The final list of one question, best first."""

    query_id: str
    question: str
    passages: tuple[FinalListPassage, ...]


@dataclass(frozen=True)
class PersonPassageJudgement:
    """What a person said of one passage; None and "" where nothing."""

    query_id: str
    doc_id: str
    place: float | None
    grade: int | None
    remark: str


def make_opaque_check_item_id(query_id: str, doc_id: str) -> str:
    """The name of a passage in the file: it says nothing of its place, and no spreadsheet takes it for a number."""
    return f"i{digest_json([query_id, doc_id])[:10]}"


def write_human_check_file(
    path: Path, lists: Sequence[QuestionFinalList], *, blind: bool = False, excerpt: int = 800, seed: int = 1337
) -> None:
    """Write the file. Places and grades are the judge's, to be changed where they are wrong; or in a `blind` one they
    are empty, and the passages of a question stand in an order drawn by `seed`. Texts are cut at `excerpt` characters.

    UsageError for an ending that is not known.
    """
    columns = _list_check_columns(blind)
    rows: list[Iterable[Any]] = [columns]
    for final in lists:
        for passage in _shuffle_final_list(final, seed) if blind else final.passages:
            row = _make_passage_check_sheet_row(final, passage, excerpt, blind)
            rows.append([row[column] for column in columns])
    # Spreadsheets take a file without the mark for one in an old code page.
    write_file_atomically(path, format_csv_sheet(rows, _choose_delimiter_by_suffix(path)).encode("utf-8-sig"))


def read_human_check_file(path: Path, lists: Sequence[QuestionFinalList]) -> tuple[list[PersonPassageJudgement], bool]:
    """What stands in an edited file of these lists, and whether it was a blind one.

    Rows may be in any order, separators commas, semicolons or tabs, and 1,5 is 1.5. DataError with file and line for a
    passage that is not in the lists or stands twice, one that is missing, and places and grades that are none.
    """
    items = {make_opaque_check_item_id(final.query_id, p.doc_id): (final, p) for final in lists for p in final.passages}
    source = _open_human_check_table(path)
    for column in NEEDED:
        if column not in source.columns():
            raise make_missing_column_error(source, column)
    edits: dict[str, PersonPassageJudgement] = {}
    lines: dict[str, int] = {}
    for row in source.rows(NEEDED):
        if not any(_read_stripped_cell(row, column) for column in NEEDED):
            continue
        item = _read_stripped_cell(row, "item")
        if item not in items:
            raise _make_final_list_check_error(
                row,
                "the passage is not in any final list",
                "an item from the original file",
                item,
                "Restore the `item` column and use the run that made the file.",
            )
        if item in edits:
            raise _make_final_list_check_error(
                row, "the passage appears twice", f"each item once; this item is already on line {lines[item]}", item,
                "Delete one of the two rows."
            )  # fmt: skip
        whose, passage = items[item]
        edits[item] = PersonPassageJudgement(
            whose.query_id,
            passage.doc_id,
            _read_edited_rank(row),
            _parse_edited_grade(row),
            _read_stripped_cell(row, "remark"),
        )
        lines[item] = row.line
    if not edits:
        raise DataError("the file has no rows", path=path, mend="Recreate it with `embassay rag check sample`.")
    _require_complete_questions(path, edits, lines, lists)
    return list(edits.values()), "judge_place" not in source.columns()


def _require_complete_questions(
    path: Path,
    edits: Mapping[str, PersonPassageJudgement],
    lines: Mapping[str, int],
    lists: Sequence[QuestionFinalList],
) -> None:
    """DataError if a question has rows, but not all of them."""
    for final in lists:
        wanted = [make_opaque_check_item_id(final.query_id, passage.doc_id) for passage in final.passages]
        present = [item for item in wanted if item in edits]
        if present and len(present) < len(wanted):
            missing = next(item for item in wanted if item not in edits)
            raise DataError(
                f"question {final.query_id} lacks a passage", path=path, line=max(lines[item] for item in present),
                expected=f"all {len(wanted)} rows of the question, including {missing}", found=str(len(present)),
                mend="Restore the row; leave place and grade blank if you have no opinion."
            )  # fmt: skip


def _list_check_columns(blind: bool) -> tuple[str, ...]:
    judges = () if blind else JUDGES
    return ("item", "query_id", "question", "place", "grade", "remark", *judges, "doc_id", "text")


def _shuffle_final_list(final: QuestionFinalList, seed: int) -> Iterator[FinalListPassage]:
    for place in make_seeded_generator(seed, "human check", final.query_id).permutation(len(final.passages)).tolist():
        yield final.passages[place]


def _make_passage_check_sheet_row(
    final: QuestionFinalList, passage: FinalListPassage, excerpt: int, blind: bool
) -> dict[str, object]:
    grade = "" if passage.grade is None else passage.grade
    filled = ("", "") if blind else (passage.place, grade)
    return {
        "item": make_opaque_check_item_id(final.query_id, passage.doc_id),
        "query_id": escape_spreadsheet_formula(final.query_id),
        "question": escape_spreadsheet_formula(_shorten_to_one_line(final.question, excerpt)),
        "place": filled[0],
        "grade": filled[1],
        "remark": "",
        "judge_place": passage.place,
        "judge_grade": grade,
        "doc_id": escape_spreadsheet_formula(passage.doc_id),
        "text": escape_spreadsheet_formula(_shorten_to_one_line(passage.text, excerpt)),
    }


def _shorten_to_one_line(text: str, most: int) -> str:
    """One line of at most so many characters, cut between words."""
    line = " ".join(text.replace("\0", " ").split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    return (head.rpartition(" ")[0] or head) + "…"


def _choose_delimiter_by_suffix(path: Path) -> str:
    ending = find_known_suffix(path.name)
    if ending not in ENDINGS:
        raise UsageError(f"The check cannot be written to {path}.", mend="Use a name ending in .csv or .tsv.")
    return "\t" if ending == ".tsv" else ","


def _open_human_check_table(path: Path) -> DelimitedTable:
    _choose_delimiter_by_suffix(path)
    _, header = next(iter(read_text_lines(path)))
    return DelimitedTable(path, max((",", ";", "\t"), key=header.count))


def _read_stripped_cell(row: SourceRow, column: str) -> str:
    return str(row.cells.get(column) or "").strip()


def _read_edited_rank(row: SourceRow) -> float | None:
    text = _read_stripped_cell(row, "place")
    if not text:
        return None
    value = float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else math.nan
    if not 0 < value <= 1_000_000:
        raise _make_final_list_check_error(row, "the place cannot be read",
                         "a number above 0 (1 = best; 2.5 goes between 2 and 3), or blank",
                     text, "Correct it, or leave it blank if you have no opinion.")  # fmt: skip
    return value


def _parse_edited_grade(row: SourceRow) -> int | None:
    text = _read_stripped_cell(row, "grade")
    if not text:
        return None
    # A spreadsheet may write 4 as 4.0.
    whole = re.fullmatch(r"([1-5])(?:[.,]0+)?", text)
    if whole is None:
        raise _make_final_list_check_error(row, "the grade cannot be read", "1, 2, 3, 4, 5 or blank", text,
                     "Correct it, or leave it blank if you have no opinion.")  # fmt: skip
    return int(whole[1])


def _make_final_list_check_error(row: SourceRow, what: str, expected: str, found: str, mend: str) -> DataError:
    return DataError(what, path=row.path, line=row.line, expected=expected, found=repr(found), mend=mend)


def read_final_lists(run: Path) -> list[QuestionFinalList]:
    """The first places of every question that is done, in the order of the run.

    UsageError where there is no golden set, or none of its questions is done; DataError for a damaged one.
    """
    manifest = RunFolder(run).read_manifest()
    if manifest is None or (manifest.get("protocol"), manifest.get("kind")) != ("rag", "golden"):
        raise UsageError(f"There is no golden set in {run}.", mend="Give the --out folder of `embassay rag golden`.")
    try:
        top = int(manifest["arguments"]["options"]["top"])
        cells = [(cell["query_id"], cell["folder"]) for cell in manifest["cells"]]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("the manifest is incomplete", path=run / "manifest.json", found=repr(error)) from error
    # A name, not a path: what somebody sends as a run leads nowhere else.
    folders = [(query, SingleQueryFolder(run, Path(str(name)).name)) for query, name in cells]
    done = [(query, folder) for query, folder in folders if folder.stage_success_path("S6").exists()]
    if not done:
        raise UsageError(
            f"No question in {run} is finished.", mend="Run the same `embassay rag golden` command again to resume."
        )
    return [read_final_list(query, folder.ranked(top)) for query, folder in done]


def read_final_list(query: str, path: Path) -> QuestionFinalList:
    """The final list of one question, in the file `path`. DataError where it cannot be read."""
    try:
        rows = read_json_line_rows(path)
        passages = tuple(_parse_listed_passage(row) for row in rows)
        question = str(rows[0]["question"]) if rows else ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "the final list cannot be read", path=path, found=str(error), mend="Recreate it with --from-stage S6."
        ) from error
    return QuestionFinalList(query, question, passages)


def _parse_listed_passage(row: dict[str, Any]) -> FinalListPassage:
    return FinalListPassage(str(row["doc_id"]), int(row["final_rank"]), row["grade"], str(row["text"]))


FILES = ("qrels.tsv", "qrels.trec", "golden.jsonl", "beir")

ListRow = Mapping[str, Any]


@dataclass(frozen=True)
class FinishedGoldenQuestion:
    """A question that is in the golden set: its text and rewriting, and all graded passages of its pool (`doc_id`,
    `grade`, None where it has none, `text` ...), those that were ordered with `final_rank`."""

    id: str
    text: str
    rewrite: str
    rows: Sequence[ListRow]


@dataclass(frozen=True)
class RetrievablePassage:
    """A passage that can be retrieved."""

    id: str
    text: str
    title: str = ""


def export_golden_set(
    folder: Path,
    questions: Sequence[FinishedGoldenQuestion],
    corpus: Iterable[RetrievablePassage],
    about: Mapping[str, Any],
    places: Mapping[str, tuple[str, int, int]] = MappingProxyType({}),
) -> dict[str, str]:
    """Write all of it into `folder`; name of each part -> its path there. `about` is told in the folder's README.
    `places` are document, start and end of passages: then their judgements are also written as spans, which hold for
    documents that are cut in another way.

    Rows stand by question as given, in each by final place, grade and place of fusion. DataError for an id with a tab
    or a line break, which no qrels can hold.
    """
    rows = {question.id: sorted(question.rows, key=_make_final_rank_sort_key) for question in questions}
    judged = [
        (query, row["doc_id"], int(row["grade"]))
        for query, pool in rows.items()
        for row in pool
        if row["grade"] is not None
    ]
    for query, doc, _ in judged:
        _check_id_fits_qrels(folder, query)
        _check_id_fits_qrels(folder, doc)
    written = {"qrels": "qrels.tsv"}
    write_file_atomically(folder / "qrels.tsv", _format_qrels_as_tsv(judged))
    # TREC's columns are separated by blanks, and no id can be quoted.
    if all(name.split() == [name] for query, doc, _ in judged for name in (query, doc)):
        lines = (f"{query} 0 {doc} {grade}\n" for query, doc, grade in judged)
        write_file_atomically(folder / "qrels.trec", "".join(lines))
        written["trec"] = "qrels.trec"
    write_file_atomically(
        folder / "golden.jsonl", _format_json_lines(_make_export_rows_of_golden_questions(questions, rows))
    )
    beir = folder / "beir"
    write_file_atomically(
        beir / "corpus.jsonl",
        _format_json_lines({"_id": text.id, "title": text.title, "text": text.text} for text in corpus),
    )
    write_file_atomically(
        beir / "queries.jsonl",
        _format_json_lines({"_id": question.id, "text": question.text} for question in questions),
    )
    write_file_atomically(
        beir / "qrels" / "test.tsv", _format_qrels_as_tsv((query, doc, grade - 1) for query, doc, grade in judged)
    )
    write_file_atomically(
        folder / "README.md", _format_golden_set_readme(about, len(questions), len(judged), "trec" in written)
    )
    if spans := [(query, *places[doc], grade) for query, doc, grade in judged if doc in places]:
        names = ("query_id", "document", "start", "end", "relevance")
        write_file_atomically(
            folder / "spans.jsonl", _format_json_lines(dict(zip(names, span, strict=True)) for span in spans)
        )
        written["spans"] = "spans.jsonl"
    return {**written, "jsonl": "golden.jsonl", "beir": "beir"}


def _make_export_rows_of_golden_questions(
    questions: Sequence[FinishedGoldenQuestion], rows: Mapping[str, Sequence[ListRow]]
) -> Iterator[dict[str, Any]]:
    for question in questions:
        for row in rows[question.id]:
            head = {"query_id": question.id, "question": question.text, "rewrite": question.rewrite}
            first = {"doc_id": row["doc_id"], "grade": row["grade"], "final_rank": row.get("final_rank")}
            rest = {name: value for name, value in row.items() if name not in _SAID and name not in first}
            yield {**head, **first, **rest}


_SAID = ("qid", "question", "query_rewrite", "rewrite")
"""Fields of the stages' rows that stand under another name."""


def _make_final_rank_sort_key(row: ListRow) -> tuple[bool, int, int, int, str]:
    place = row.get("final_rank")
    return (place is None, place or 0, -int(row["grade"] or 0), int(row.get("rank_rrf") or 0), str(row["doc_id"]))


def _format_qrels_as_tsv(judged: Iterable[tuple[str, str, int]]) -> str:
    return "query-id\tcorpus-id\tscore\n" + "".join(f"{query}\t{doc}\t{value}\n" for query, doc, value in judged)


def _format_json_lines(values: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{format_value_as_json(value)}\n" for value in values)


def _check_id_fits_qrels(folder: Path, name: str) -> None:
    if not name.strip() or any(sign in name for sign in "\t\r\n"):
        raise DataError(
            "an id cannot be written to qrels", path=folder, expected="a non-empty id without tabs or line breaks",
            found=repr(name), mend="Rename the question or document."
        )  # fmt: skip


def _format_golden_set_readme(about: Mapping[str, Any], questions: int, judged: int, has_trec: bool) -> str:
    facts = "".join(f"- {name}: {value}\n" for name, value in about.items())
    trec = "`qrels.trec` has the same grades in TREC format; " if has_trec else ""
    return f"""\
# A golden set

{questions:,} questions, {judged:,} graded passages. Made by Embassay.

{facts}
Grades: 5 answers the question clearly or contains the key elements, 4 highly relevant, 3 partial, 2 weak, 1 irrelevant.

- `qrels.tsv` has grades 1 to 5; {trec}`golden.jsonl` has all details of each passage.
- `beir/` is a dataset for retrieval and evaluation; its judgements are gains (grade - 1).

Score a run with it: `embassay rag score --qrels qrels.tsv --run RUN`.
"""
