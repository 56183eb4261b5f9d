"""A golden set for others to use: graded qrels, everything as JSON Lines, and a folder in BEIR's layout.

    export/qrels.tsv       query-id, corpus-id, score: grades 1 to 5, with a header
    export/qrels.trec      query 0 document grade (not where an id holds a blank, which TREC's format cannot)
    export/golden.jsonl    a line per graded passage: grade, places, scores, texts, where they come from
    export/beir/           corpus.jsonl, queries.jsonl and qrels/test.tsv, to retrieve from and evaluate on

The folder's judgements are gains, 0 to 4 (grade - 1, spec rag 1.1): tools that read BEIR take any score above 0 for
relevant, and grade 1 is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import DataError
from embassay.runs.files import to_json, write_atomic

FILES = ("qrels.tsv", "qrels.trec", "golden.jsonl", "beir")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Finished:
    """A question that is in the golden set: its text and rewriting, and all graded passages of its pool (`doc_id`,
    `grade`, None where it has none, `text` ...), those that were ordered with `final_rank`."""

    id: str
    text: str
    rewrite: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class CorpusText:
    """A passage that can be retrieved."""

    id: str
    text: str
    title: str = ""


def write_export(
    folder: Path, questions: Sequence[Finished], corpus: Iterable[CorpusText], about: Mapping[str, Any]
) -> dict[str, str]:
    """Write all of it into `folder`; name of each part -> its path there. `about` is told in the folder's README.

    Rows stand by question as given, in each by final place, grade and place of fusion. DataError for an id with a tab
    or a line break, which no qrels can hold.
    """
    rows = {one.id: sorted(one.rows, key=_place) for one in questions}
    judged = [
        (query, row["doc_id"], int(row["grade"]))
        for query, own in rows.items()
        for row in own
        if row["grade"] is not None
    ]
    for query, doc, _ in judged:
        _check_id(folder, query)
        _check_id(folder, doc)
    written = {"qrels": "qrels.tsv"}
    write_atomic(folder / "qrels.tsv", _tsv(judged))
    if all(name.split() == [name] for query, doc, _ in judged for name in (query, doc)):
        lines = (f"{query} 0 {doc} {grade}\n" for query, doc, grade in judged)
        write_atomic(folder / "qrels.trec", "".join(lines))
        written["trec"] = "qrels.trec"
    write_atomic(folder / "golden.jsonl", _lines(_everything(questions, rows)))
    beir = folder / "beir"
    write_atomic(
        beir / "corpus.jsonl", _lines({"_id": one.id, "title": one.title, "text": one.text} for one in corpus)
    )
    write_atomic(beir / "queries.jsonl", _lines({"_id": one.id, "text": one.text} for one in questions))
    write_atomic(beir / "qrels" / "test.tsv", _tsv((query, doc, grade - 1) for query, doc, grade in judged))
    write_atomic(folder / "README.md", _readme(about, len(questions), len(judged), "trec" in written))
    return {**written, "jsonl": "golden.jsonl", "beir": "beir"}


def _everything(questions: Sequence[Finished], rows: Mapping[str, Sequence[Row]]) -> Iterator[dict[str, Any]]:
    for one in questions:
        for row in rows[one.id]:
            head = {"query_id": one.id, "question": one.text, "rewrite": one.rewrite}
            first = {"doc_id": row["doc_id"], "grade": row["grade"], "final_rank": row.get("final_rank")}
            rest = {name: value for name, value in row.items() if name not in _SAID and name not in first}
            yield {**head, **first, **rest}


_SAID = ("qid", "question", "query_rewrite", "rewrite")
"""Fields of the stages' rows that stand under another name."""


def _place(row: Row) -> tuple[bool, int, int, int, str]:
    place = row.get("final_rank")
    return (
        place is None,
        place or 0,
        -int(row["grade"] or 0),
        int(row.get("rank_rrf") or 0),
        str(row["doc_id"]),
    )


def _tsv(judged: Iterable[tuple[str, str, int]]) -> str:
    return "query-id\tcorpus-id\tscore\n" + "".join(
        f"{query}\t{doc}\t{value}\n" for query, doc, value in judged
    )


def _lines(values: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{to_json(value)}\n" for value in values)


def _check_id(folder: Path, name: str) -> None:
    if not name.strip() or any(sign in name for sign in "\t\r\n"):
        raise DataError(
            "an id cannot be written to qrels", path=folder, expected="no tab or line break in it",
            found=repr(name), mend="Give the questions and documents other ids.",
        )  # fmt: skip


def _readme(about: Mapping[str, Any], questions: int, judged: int, has_trec: bool) -> str:
    told = "".join(f"- {name}: {value}\n" for name, value in about.items())
    trec = "`qrels.trec` the same in TREC's format, " if has_trec else ""
    return f"""\
# A golden set

{questions:,} questions, {judged:,} graded passages. Made by Embassay.

{told}
Grades: 5 answers the question clearly or holds the key elements, 4 highly relevant, 3 partial, 2 weak, 1 irrelevant.

- `qrels.tsv` has grades 1 to 5, {trec}`golden.jsonl` everything that is known of each passage.
- `beir/` is a folder to retrieve from and evaluate on; its judgements are gains, grade - 1.

Score a run with it: `embassay rag score --qrels qrels.tsv --run RUN`.
"""
