"""What each system has first for every question whose right passage is known: what `matrix.json` is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from embassay.parquet import read_parquet
from embassay.protocols.choose.options import ChoiceOptions
from embassay.protocols.choose.questions import (
    BY_MODEL,
    SearchedPassages,
    make_choice_cell_options,
    read_user_questions,
    read_written_questions,
)
from embassay.runs.matrix import QuestionWithRightPassages

LABELS, QUERIES = "labels", "queries"
"""Families of questions that are the user's: with judgements, and without."""


def iterate_questions_with_known_passages(
    drawn: SearchedPassages, options: ChoiceOptions, written: str, dataset: str, passages: int
) -> Iterator[tuple[QuestionWithRightPassages, str]]:
    """Every question whose right passage is known, with its family, those of the first `passages` among them; of one id
    the first."""
    seen = set[str]()
    asked = read_user_questions(make_choice_cell_options(options, ""))
    judged = drawn.select_searched_judgements(asked)
    for query, grades in judged.items():
        seen.add(query)
        right = tuple(doc for doc, gain in grades.items() if gain > 0)
        yield (
            QuestionWithRightPassages(
                query, right, asked.queries[query], "judged", _extract_document_of_passage_id(right[0])
            ),
            QUERIES,
        )
    for posed in read_written_questions(written, dataset):
        if posed.id not in seen:
            seen.add(posed.id)
            family = f"{BY_MODEL}{posed.kind}"
            document = _extract_document_of_passage_id(posed.passage)
            yield QuestionWithRightPassages(posed.id, (posed.passage,), posed.text, family, document), family
    for question in drawn.probe.questions.get("sentence", ())[:passages]:
        doc = drawn.ids[question.row]
        if doc not in seen:
            yield (
                QuestionWithRightPassages(doc, (doc,), question.text, "sentence", _extract_document_of_passage_id(doc)),
                "sentence",
            )


def _extract_document_of_passage_id(passage: str) -> str:
    """The document of a passage of a folder, whose id is `path#number`; empty for other ids."""
    document, mark, number = passage.rpartition("#")
    return document if mark and number.isdecimal() else ""


def read_first_passages(rankings: Path, families: Mapping[str, str]) -> dict[str, list[str]]:
    """The first passages of each question, best first, as it was asked in its family."""
    lists: dict[str, list[tuple[int, str]]] = {}
    columns = ["query_id", "version", "rank", "doc_id"]
    for query, version, rank, doc in read_parquet(rankings, columns).iter_rows():
        if families.get(query) == version:
            lists.setdefault(query, []).append((rank, doc))
    return {query: [doc for _, doc in sorted(ranked)] for query, ranked in lists.items()}
