"""The one task of a choice: what a system finds of the passages that questions are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import Dataset
from embassay.measures import ndcg
from embassay.protocols.choose.lists import LABELS, QUERIES
from embassay.protocols.choose.options import FEW, plan_passage_draw_sizes
from embassay.protocols.choose.questions import (
    BY_MODEL,
    DEPTH,
    ChooseProtocolCellOptions,
    ModelWrittenQuestion,
    SearchedPassages,
    TitledPassages,
    UserQuestionsWithJudgements,
    compute_ndcg_of_single_passage,
    cut_rankings_at_ties,
    draw_searched_passages,
    find_passage_ranks,
    is_text_without_spaces,
    make_choice_cell_options,
    read_user_questions,
    read_written_questions,
)
from embassay.protocols.kernel import evaluation
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, estimate
from embassay.protocols.kernel.evaluation import Fields, Task
from embassay.protocols.tasks.task import make_task_outcome
from embassay.records import LoadedDataset, Score, TaskOutcome
from embassay.registry import Registry

TASK, HEADLINE = "choice", "found"
K = 10


@dataclass(frozen=True)
class ChoiceContext(evaluation.TaskContext):
    """The context of a task, with the options of a choice."""

    options: ChooseProtocolCellOptions = field(default_factory=ChooseProtocolCellOptions)

    def __post_init__(self) -> None:
        # Where nothing is evaluated for a run, nothing is written for it either.
        if not isinstance(self.options, ChooseProtocolCellOptions):
            object.__setattr__(self, "options", make_choice_cell_options(self.options, ""))


def evaluate_passage_search_of_system(system: Similarity, data: TitledPassages, context: ChoiceContext) -> TaskOutcome:
    """What one system finds: items are nDCG@100 of every question by its family, rankings the first ten of each."""
    drawn, options = draw_searched_passages(data, context.options, context.seed), context.options
    draws = [n for n in plan_passage_draw_sizes(options.questions) if n <= options.asked]
    posed = [drawn.probe.list_questions_of_first_passages(n, after) for after, n in pairwise((0, *draws))]
    asked = [[(name, question) for name, group in part.items() for question in group] for part in posed]
    families = list(chain.from_iterable(asked))
    items = Items()
    if not families:
        reason = f"none of {len(drawn.ids):,} passages has enough words for a question"
        return make_task_outcome(HEADLINE, reason, items, n=0, counts={"documents": len(drawn.ids)})
    # Each draw by itself, as it was asked before: what was encoded then is in the cache.
    texts = ([question.text for _, question in part] for part in asked if part)
    top = np.concatenate([_search_passages_for_questions(system, part, drawn.probe.texts) for part in texts])
    documents = Lost(system, drawn.ids, "documents")
    documents.note_items_with_unencoded_text(drawn.probe.texts)
    missed = Lost(system, [f"{name} {drawn.ids[question.row]}" for name, question in families], "questions")
    missed.note_items_with_unencoded_text(question.text for _, question in families)
    for lost in (documents, missed):
        if lost.too_many_lost_reason:
            return lost.make_task_outcome_without_score(HEADLINE, items)
    places = find_passage_ranks(top, np.array([question.row for _, question in families]))
    values = compute_ndcg_of_single_passage(places)
    rankings = _TopTenPassageColumns(drawn.ids)
    by_passage: dict[str, list[float]] = {}
    scores = []
    gone = missed.lost_mask
    for name in dict.fromkeys(name for name, _ in families):
        # A question that failed has no answer, which is not a wrong one.
        rows = [place for place, (family, _) in enumerate(families) if family == name and not gone[place]]
        ids = [drawn.ids[families[place][1].row] for place in rows]
        items.add(ids, values[rows], HEADLINE, name)
        # The rank itself too: `conclusions` makes nearness of it.
        items.add(ids, places[rows], "rank", name)
        scores.append(_estimate_mean_score(values[rows], context, name).score(HEADLINE, variant=name))
        rankings.add(name, ids, top[rows, :K])
        for passage, value in zip(ids, values[rows].tolist(), strict=True):
            by_passage.setdefault(passage, []).append(value)
    scores += _score_search_by_model_questions(system, drawn, context, items, rankings)
    if options.queries or options.labels:
        _search_passages_for_user_questions(system, drawn, read_user_questions(options), items, rankings)
    means = np.array([np.mean(scored) for scored in by_passage.values()])
    result = make_task_outcome(
        HEADLINE, _estimate_mean_score(means, context, "passages"), items, n=len(means), scores=scores,
        skipped=(*documents.skipped, *missed.skipped),
        warnings=_list_question_warnings(data, drawn, len(means)),
        counts={"documents": len(drawn.ids), "questions": len(families)}
    )  # fmt: skip
    return replace(result, rankings=rankings.columns)


def _search_passages_for_questions(
    system: Similarity, questions: Sequence[str], passages: Sequence[str]
) -> NDArray[np.int64]:
    """The places of the passages that are found, (questions, DEPTH), -1 where there is none."""
    ranked = system.search(questions, passages, DEPTH)
    # The places of a retriever's list are its own, and a list may end early.
    return ranked.indices if system.kind == "run" else cut_rankings_at_ties(ranked)


def _list_question_warnings(data: TitledPassages, drawn: SearchedPassages, asked: int) -> Iterator[str]:
    """Warn of what makes the questions worth less."""
    if len(drawn.ids) < len(data):
        yield f"{len(drawn.ids):,} of {len(data):,} passages were drawn; with more, the task is harder"
    if 2 * drawn.probe.halved > asked:
        yield (
            f"{drawn.probe.halved:,} of {asked:,} passages have a single sentence, so half of its words become the "
            "question, which is less informative"
        )
    if drawn.probe.unasked:
        yield (
            f"{drawn.probe.unasked:,} drawn passages yield no question because they are too short, or are "
            "code, headings, lists, tables, templates or addresses"
        )
    if 2 * sum(map(is_text_without_spaces, drawn.texts)) > len(drawn.texts):
        yield (
            "most passages have no spaces between words, so bm25 and jaccard find little; add -s 'bm25?terms=letters'"
        )
    if asked < FEW:
        yield f"only {asked:,} passages became questions, but P(best) needs at least {FEW}"


def _estimate_mean_score(values: NDArray[np.float64], context: ChoiceContext, purpose: str) -> Estimate:
    return estimate(values[:, None], lambda means: means[..., 0], context, purpose, "bootstrap over passages")


def _score_search_by_model_questions(
    system: Similarity, drawn: SearchedPassages, context: ChoiceContext, items: Items, rankings: _TopTenPassageColumns
) -> Iterator[Score]:
    """Search the passages as they are for the questions that a model asked."""
    places = {doc: row for row, doc in enumerate(drawn.ids)}
    by_kind: dict[str, list[ModelWrittenQuestion]] = {}
    for question in read_written_questions(context.options.written, context.dataset):
        by_kind.setdefault(f"{BY_MODEL}{question.kind}", []).append(question)
    for family, questions in by_kind.items():
        ids = [question.id for question in questions]
        top = _search_passages_for_questions(system, [question.text for question in questions], drawn.texts)
        ranked = find_passage_ranks(top, np.array([places[question.passage] for question in questions]))
        items.add(ids, compute_ndcg_of_single_passage(ranked), HEADLINE, family)
        items.add(ids, ranked, "rank", family)
        rankings.add(family, ids, top[:, :K])
        yield _estimate_mean_score(compute_ndcg_of_single_passage(ranked), context, family).score(
            HEADLINE, variant=family
        )


def _search_passages_for_user_questions(
    system: Similarity,
    drawn: SearchedPassages,
    asked: UserQuestionsWithJudgements,
    items: Items,
    rankings: _TopTenPassageColumns,
) -> None:
    """Search the passages for the user's questions, and for sentences of the documents."""
    ids = list(asked.queries)
    without, own = drawn.remove_asked_sentences(asked.queries)
    top = np.empty((len(ids), K), dtype=np.int64)
    for texts, of_documents in ((drawn.texts, False), (without, True)):
        rows = [row for row, query in enumerate(ids) if (query in own) is of_documents]
        if rows:
            ranked = system.search([asked.queries[ids[row]] for row in rows], texts, K).indices
            # Of fewer passages than are looked at, rankings are shorter.
            top[rows] = np.pad(ranked, ((0, 0), (0, K - ranked.shape[1])), constant_values=-1)
    rankings.add(QUERIES, ids, top)
    places = {query: place for place, query in enumerate(ids)}
    judged = drawn.select_searched_judgements(asked)
    listed = {query: [drawn.ids[row] for row in top[places[query]].tolist() if row >= 0] for query in judged}
    if judged:
        items.add(list(judged), np.asarray(ndcg(judged, listed, K)), "ndcg@10", LABELS)


class _TopTenPassageColumns:
    """The first ten passages of every question, as columns."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.columns: dict[str, list[Any]] = {"query_id": [], "version": [], "rank": [], "doc_id": []}
        self._ids = ids

    def add(self, version: str, ids: Sequence[str], top: NDArray[np.int64]) -> None:
        for query, rows in zip(ids, top.tolist(), strict=True):
            for rank, row in enumerate(rows, 1):
                if row >= 0:
                    for name, value in zip(self.columns, (query, version, rank, self._ids[row]), strict=True):
                        self.columns[name].append(value)


def make_system_choice_task() -> Task:
    """Which system finds what the documents ask of themselves?"""

    def load_passages(dataset: Dataset, limit: int | None, seed: int) -> LoadedDataset[Any]:
        documents = _add_documents_part_from_corpus(dataset)
        loaded: LoadedDataset[Any] = documents.load("documents", limit=limit, seed=seed)
        titles = _read_passage_titles(documents) if "title" in documents.parts["documents"].columns() else {}
        data = loaded.data
        return replace(loaded, data=TitledPassages(data.ids, data.texts, [titles.get(doc, "") for doc in data.ids]))

    def collect_text_fields(data: TitledPassages) -> Fields:
        return {"text": (data.ids, data.texts)}

    return Task(
        TASK,
        "Choice",
        ("documents", "retrieval"),
        HEADLINE,
        2,
        evaluate_passage_search_of_system,
        load_passages,
        collect_text_fields,
    )


def _add_documents_part_from_corpus(dataset: Dataset) -> Dataset:
    """A retrieval set described table by table as documents: those of its corpus."""
    if "documents" in dataset.parts:
        return dataset
    return replace(dataset, parts={**dataset.parts, "documents": dataset.parts["corpus"]})


def _read_passage_titles(dataset: Dataset) -> dict[str, str]:
    rows = dataset.parts["documents"].rows(("id", "title"))
    return {str(row.cells.get("id")): str(row.cells.get("title") or "") for row in rows}


TASKS: Registry[Task] = Registry("task", makes=[("name", "headline")])
TASKS.add(TASK, "embassay.protocols.choose.task:make_system_choice_task", "which system to use, without labels")
