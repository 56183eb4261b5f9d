"""The sample dataset of the package."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest
from scipy.stats import spearmanr

from embassay.data import DATASETS, SHAPES, Dataset, open_dataset
from embassay.systems import open_system
from embassay.text import open_tokenizer


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return open_dataset("sample")


def test_every_shape_without_a_skip(sample: Dataset) -> None:
    """It serves every shape, and nothing of it is left out or odd."""
    assert sample.shapes() == tuple(SHAPES)
    assert sample.lang == "mul"
    for shape in SHAPES:
        loaded = sample.load(shape)
        assert (loaded.dataset, loaded.lang, loaded.skipped, loaded.warnings) == ("sample", "mul", (), ())


def test_sizes(sample: Dataset) -> None:
    """48 documents with two summaries each, 120 labelled texts in sets and halves, 84 pairs, 42 questions."""
    sizes = {shape: len(sample.load(shape).data) for shape in SHAPES if shape != "retrieval"}
    assert sizes == {
        **{"documents": 48, "summarised": 48, "comparisons": 48, "ratings": 96, "labelled": 120},
        **{"classification": 60, "pairs": 84, "labelled_pairs": 84, "reranking": 42, "summaries": 48},
        "paraphrases": 426,
    }


def test_preferred_summaries(sample: Dataset) -> None:
    """The summary of a document is the preferred one of its comparison; both are rated on four axes."""
    summarised, comparisons = sample.load("summarised").data, sample.load("comparisons").data
    ratings = sample.load("ratings").data
    assert summarised.ids == comparisons.ids == sample.load("documents").data.ids
    chosen = np.where(comparisons.choice, comparisons.second, comparisons.first)
    assert summarised.summaries == tuple(chosen)
    assert list(ratings.axes) == ["overall", "accuracy", "coverage", "coherence"]
    assert {*comparisons.first, *comparisons.second} == set(ratings.summaries)
    assert all(np.all((values >= 1) & (values <= 7)) for values in ratings.axes.values())


def test_comparisons_keep_the_stored_order(sample: Dataset) -> None:
    """The first summary is the one stored first."""
    lines = files("embassay.data").joinpath("sample", "summaries.jsonl").read_text("utf-8").splitlines()
    stored: dict[str, str] = {}
    for row in map(json.loads, lines):
        stored.setdefault(row["doc_id"], row["text"])
    assert sample.load("comparisons").data.first == tuple(stored.values())


def test_passages(sample: Dataset) -> None:
    """The corpus is the paragraphs of the documents, numbered; gains are grades - 1."""
    documents, retrieval = sample.load("documents").data, sample.load("retrieval").data
    assert len(retrieval) > 30
    text = dict(zip(retrieval.corpus.ids, retrieval.corpus.texts, strict=True))
    for key, document in zip(documents.ids, documents.texts, strict=True):
        paragraphs = document.split("\n\n")
        assert [text[f"{key}#{n}"] for n in range(1, len(paragraphs) + 1)] == paragraphs
    gains = Counter(gain for grades in retrieval.qrels.values() for gain in grades.values())
    assert set(gains) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert all(max(grades.values()) >= 3 for grades in retrieval.qrels.values())


def test_pairs_and_their_labels(sample: Dataset) -> None:
    """A pair of score 3, roughly equivalent, and above belongs together."""
    scored, labelled = sample.load("pairs").data, sample.load("labelled_pairs").data
    assert (labelled.ids, labelled.first, labelled.second) == (scored.ids, scored.first, scored.second)
    assert labelled.labels.tolist() == (scored.scores >= 3).astype(int).tolist()
    assert labelled.labels.sum() == 34


def test_pairs_of_every_degree(sample: Dataset) -> None:
    """As many pairs of each rounded score from 0, unrelated, to 5, the same meaning, and of each subject."""
    pairs = sample.load("pairs").data
    assert Counter((pairs.scores + 0.5).astype(int).tolist()) == dict.fromkeys(range(6), 14)
    assert set(Counter(key.partition("-")[0] for key in pairs.ids).values()) == {14}


@pytest.mark.parametrize(("name", "low", "high"), [("wordllama", 0.5, 0.75), ("bm25", 0.25, 0.6)])
def test_pairs_can_be_told_apart_and_paraphrases_make_it_harder(
    sample: Dataset, name: str, low: float, high: float
) -> None:
    """As in real data, words tell something about meaning, and less where both sides are worded anew."""
    pairs, others = sample.load("pairs").data, sample.load("paraphrases").data.map_text_to_wordings()
    system = open_system(name, tokenizer=open_tokenizer("words"))
    found = spearmanr(system.pairs(pairs.first, pairs.second), pairs.scores).statistic
    assert low < found < high
    for run in range(3):
        reworded = ([others[text][run] for text in side] for side in (pairs.first, pairs.second))
        assert spearmanr(system.pairs(*reworded), pairs.scores).statistic < found


def test_candidates_of_questions(sample: Dataset) -> None:
    """Every question reranks the summaries of the documents on its subject and of those it grades; grade 4, of any
    passage, is where relevance starts, as in spec rag 1.1."""
    retrieval, reranking = sample.load("retrieval").data, sample.load("reranking").data
    documents = sample.load("summarised").data
    summary = dict(zip(documents.ids, documents.summaries or (), strict=True))
    assert sorted(reranking.ids) == sorted(retrieval.qrels)
    for place, key in enumerate(reranking.ids):
        graded = {doc.partition("#")[0] for doc in retrieval.qrels[key]}
        relevant = {doc.partition("#")[0] for doc, gain in retrieval.qrels[key].items() if gain >= 3}
        shown = [doc for doc in summary if doc.partition("-")[0] == key.partition("-")[0]]
        shown += [doc for doc in summary if doc in graded and doc not in shown]
        assert set(reranking.candidates[place]) == {summary[doc] for doc in shown}
        found = dict(zip(reranking.candidates[place], reranking.relevance[place].tolist(), strict=True))
        assert found == {summary[doc]: float(doc in relevant) for doc in shown}


def test_summaries_against_the_preferred(sample: Dataset) -> None:
    """The preferred summary is the reference; the other one's relevance is its coverage."""
    data, ratings = sample.load("summaries").data, sample.load("ratings").data
    coverage = dict(zip(ratings.summaries, ratings.axes["coverage"], strict=True))
    assert [one for (one,) in data.references] == list(sample.load("summarised").data.summaries or ())
    for (summary,), (relevance,) in zip(data.summaries, data.relevance, strict=True):
        assert relevance == coverage[summary]


def test_every_text_of_pteb_has_three_paraphrases(sample: Dataset) -> None:
    """So the demo can paraphrase three runs; corpora stay as they are."""
    paraphrases = sample.load("paraphrases").data
    others = paraphrases.map_text_to_wordings()
    assert paraphrases.runs == 3
    assert {len(wordings) for wordings in others.values()} == {3}
    assert all(text not in wordings for text, wordings in others.items())
    sides = sample.load("classification").data
    pairs, summaries = sample.load("pairs").data, sample.load("summaries").data
    texts = {*pairs.first, *pairs.second, *sides.train.texts, *sides.test.texts, *sample.load("labelled").data.texts}
    texts.update(sample.load("retrieval").data.queries.texts)
    texts.update(text for column in (summaries.references, summaries.summaries) for row in column for text in row)
    reranking = sample.load("reranking").data
    texts.update(text for column in (reranking.queries, reranking.candidates) for row in column for text in row)
    assert texts <= set(others)


def test_languages_can_be_had_alone(sample: Dataset) -> None:
    """A subset per language of a shape; together they are the shape."""
    subsets = sample.subsets("pairs")
    assert {lang: len(one.load("pairs").data) for lang, one in subsets.items()} == {"en": 76, "fr": 8}
    assert subsets["fr"].load("pairs").lang == "fr"
    assert subsets["fr"].fingerprint != subsets["en"].fingerprint
    assert list(sample.subsets("retrieval")) == ["en", "fr"]


def test_is_in_the_catalogue() -> None:
    """`embassay list datasets` shows it, with its language and shapes."""
    entry = DATASETS.get("sample")
    assert dict(entry.facts) == {"lang": "mul", "shapes": " ".join(SHAPES)}


def _judgements() -> list[dict[str, object]]:
    text = files("embassay.data").joinpath("sample", "judgements.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_the_recorded_judge_is_whole() -> None:
    """Twelve questions with every passage of their subject, each place taken once, no better grade behind a worse."""
    passages = set(open_dataset("sample").load("retrieval").data.corpus.ids)
    by_question: dict[str, list[dict[str, object]]] = {}
    for row in _judgements():
        by_question.setdefault(str(row["query_id"]), []).append(row)
    assert len(by_question) == 12
    for question, rows in by_question.items():
        judged = {str(row["doc_id"]) for row in rows}
        subject = question.partition("-")[0]
        assert {one for one in passages if one.startswith(subject)} <= judged <= passages
        assert [row["place"] for row in rows] == list(range(1, len(judged) + 1))
        grades = [int(str(row["grade"])) for row in rows]
        assert grades == sorted(grades, reverse=True)
        assert set(grades) <= {1, 2, 3, 4, 5}


def test_the_recorded_judge_agrees_with_the_grades() -> None:
    """With the grades of the sample's authors: the same in three of four, never two apart, the same above 3."""
    text = files("embassay.data").joinpath("sample", "questions.jsonl").read_text("utf-8")
    graded = {
        (row["id"], passage): grade
        for row in map(json.loads, text.splitlines())
        for passage, grade in row["grades"].items()
    }
    pairs = [
        (graded[key], int(str(row["grade"])))
        for row in _judgements()
        if (key := (row["query_id"], row["doc_id"])) in graded
    ]
    assert len(pairs) == 66
    assert sum(own == other for own, other in pairs) / len(pairs) == pytest.approx(0.773, abs=0.001)
    assert all(abs(own - other) <= 1 and (own >= 4) == (other >= 4) for own, other in pairs)
