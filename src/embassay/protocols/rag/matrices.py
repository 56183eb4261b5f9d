"""Questions by systems of scored runs and of swept stacks: at which place each has the first relevant passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from embassay.measures.judgements import RELEVANT
from embassay.parquet import read_parquet
from embassay.runs.matrix import FIRST, MOST_SYSTEMS, QuestionMatrix, QuestionWithRightPassages, build_question_matrix

if TYPE_CHECKING:
    from embassay.data.judged_runs import RunOrQrelsEntries
    from embassay.protocols.rag.scoring.inputs import JudgementGrades1To5, ScoringInputs
    from embassay.protocols.rag.sweep.collection import SweepCollection
    from embassay.protocols.rag.sweep.stacks import MeasuredStack, SweepMeasurements
    from embassay.runs.folder import RunCell, RunFolder

DEPTH = 100
"""Places of a run that are looked at."""


def make_question_matrix_from_scored_runs(
    inputs: ScoringInputs, judgements: JudgementGrades1To5, tags: Mapping[str, Sequence[str]], separator: str
) -> QuestionMatrix:
    """Of scored runs: right is what is graded 4 or 5; questions without such a passage are not in it."""
    questions = tuple(_list_questions_with_right_passages(inputs, judgements, tags, separator))
    ids = {question.id for question in questions}
    lists = {name: _list_best_passages_per_question(run, ids) for name, run in inputs.runs.items()}
    return build_question_matrix(inputs.name, questions, lists, inputs.texts)


def _list_questions_with_right_passages(
    inputs: ScoringInputs, judgements: JudgementGrades1To5, tags: Mapping[str, Sequence[str]], separator: str
) -> Iterator[QuestionWithRightPassages]:
    right: dict[str, list[tuple[float, str]]] = {}
    for query, doc, grade in judgements.frame.select("query", "doc", "grade").iter_rows():
        if grade >= RELEVANT:
            right.setdefault(query, []).append((-grade, doc))
    for query, graded in right.items():
        docs = tuple(doc for _, doc in sorted(graded))
        document = docs[0].rpartition(separator)[0]
        yield QuestionWithRightPassages(
            query, docs, inputs.questions.get(query, ""), ", ".join(tags.get(query, ())), document
        )


def _list_best_passages_per_question(run: RunOrQrelsEntries, ids: set[str]) -> dict[str, list[str]]:
    """The first passages of each question, best first; equal scores by id, as they are scored."""
    import polars as pl

    # Of a run only the judged questions, and of these no more than is looked at: files have millions of rows.
    frame = run.frame.filter(pl.col("query").is_in(list(ids)))
    ranked = frame.sort(["query", "value", "doc"], descending=[False, True, True])
    first = ranked.group_by("query", maintain_order=True).head(DEPTH)
    lists: dict[str, list[str]] = {}
    for query, doc in first.select("query", "doc").iter_rows():
        lists.setdefault(query, []).append(doc)
    return lists


def make_sweep_question_matrices(
    sweep: SweepMeasurements, folder: RunFolder, cells: Iterable[RunCell], collections: Iterable[SweepCollection]
) -> Iterator[QuestionMatrix]:
    """Of swept stacks, those of the highest quality first; right is what is graded 4 or 5."""
    from embassay.protocols.rag.sweep.stacks import rankings_path

    cells = tuple(cells)
    for collection in collections:
        best = _list_best_stacks(sweep, collection.name)
        lists: dict[str, dict[str, list[str]]] = {name: {} for name in best}
        paths = {rankings_path(folder, cell) for cell in cells if cell.dataset == collection.name}
        columns = ["configuration", "query_id", "documents"]
        for path in sorted(path for path in paths if path.is_file()):
            for name, query, documents in read_parquet(path, columns).iter_rows():
                if name in lists:
                    lists[name][query] = documents[:DEPTH]
        texts = _select_passage_texts(collection, lists)
        yield build_question_matrix(collection.name, _list_questions_with_relevant_passages(collection), lists, texts)


def _list_best_stacks(sweep: SweepMeasurements, dataset: str) -> list[str]:
    """The ids of the stacks with the highest mean of their first measure."""

    def mean(measured: MeasuredStack) -> float:
        values = next(iter(measured.quality.values()))
        return float(np.nanmean(values)) if np.isfinite(values).any() else -np.inf

    own = [measured for measured in sweep.measured if measured.dataset == dataset]
    ranked = sorted(own, key=lambda measured: (-mean(measured), measured.configuration.id))
    return [measured.configuration.id for measured in ranked[:MOST_SYSTEMS]]


def _list_questions_with_relevant_passages(collection: SweepCollection) -> Iterator[QuestionWithRightPassages]:
    for query, text, grades in zip(collection.query_ids, collection.queries, collection.grades, strict=True):
        right = sorted((-grade, collection.ids[place]) for place, grade in grades.items() if grade >= RELEVANT)
        if right:
            yield QuestionWithRightPassages(query, tuple(doc for _, doc in right), text)


def _select_passage_texts(
    collection: SweepCollection, lists: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, str]:
    """The texts of the first passages, and of those that are right."""
    named = set[str]()
    for own in lists.values():
        for docs in own.values():
            named.update(docs[:FIRST])
    for grades in collection.grades:
        named.update(collection.ids[place] for place in grades)
    return {doc: text for doc, text in zip(collection.ids, collection.texts, strict=True) if doc in named}
