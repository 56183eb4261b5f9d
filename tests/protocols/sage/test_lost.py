"""Texts that a system has no vector for: left out on both sides, counted with their reason, never replaced."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.kernel.estimates import estimate
from embassay.protocols.sage import clustering, preference, retrieval, robustness, sensitivity
from embassay.protocols.sage.preference import HumanPreferences
from embassay.records import Documents, LabelledTexts, RetrievalSet, SummaryComparisons, SummaryRatings
from embassay.systems.cosine import Cosine
from embassay.systems.encoders.wordllama import WordLlamaEncoder

REASON = "Too long: 9,000 tokens."


class Refusing:
    """wordllama, refused wherever one of the marks is in a text."""

    def __init__(self, *marks):
        self.encoder, self.marks, self.failures = WordLlamaEncoder(), marks, {}
        self.name = self.identity = "refusing"
        self.dim, self.max_tokens = self.encoder.dim, None

    def encode(self, texts, *, role=None):
        vectors = self.encoder.encode(texts, role=role)
        for vector, text in zip(vectors, texts, strict=True):
            if any(mark.lower() in text.lower() for mark in self.marks):
                vector[:] = np.nan
                self.failures[text] = REASON
        return vectors


def system(*marks):
    return Cosine(Refusing(*marks))


WORDS = ["river", "stone", "lamp", "paper", "cloud", "horse", "bread", "glass", "winter", "engine"]
TEXTS = tuple(
    f"The {a} is near the {b}. It was {a} number {i} that they must see! A {b} can be old, and so can a {a}."
    for i, (a, b) in enumerate((a, b) for a in WORDS for b in WORDS if a != b)
)
IDS = tuple(f"d{i}" for i in range(len(TEXTS)))
DOCUMENTS = Documents(IDS, TEXTS, tuple(text.partition(".")[0] + "." for text in TEXTS))


def without(data, *rows):
    """The documents without these rows."""
    left = [i for i in range(len(data)) if i not in rows]
    return Documents(*(tuple(column[i] for i in left) for column in (data.ids, data.texts, data.summaries)))


@pytest.mark.parametrize("task", [robustness, sensitivity])
def test_a_document_that_lost_a_version_is_left_out(task, context, score):
    """The values are those of the data without it, whichever version failed; the count has the reason."""
    # The summary of one document, every version of another; sensitivity sees no summaries.
    broken = list(DOCUMENTS.summaries)
    broken[3] = "Refused."
    data = Documents(IDS, TEXTS, tuple(broken))
    found = task.evaluate_system(system("refused", "number 17 "), data, context())
    gone = (3, 17) if task is robustness else (17,)
    expected = task.evaluate_system(system(), without(DOCUMENTS, *gone), context())
    assert [skip.count for skip in found.skipped if "left unchanged" not in skip.reason] == [len(gone)]
    assert found.skipped[0].reason == "documents that could not be encoded: Too long: 9,000 tokens"
    for one in expected.scores:
        if one.measure != "sensitivity_calibrated":
            other = score(found, one.measure, one.variant)
            assert other.value == pytest.approx(one.value, abs=1e-9)
            # An edit that leaves some texts as they were has rows over the others.
            assert other.n == one.n
            assert one.variant or one.n == len(TEXTS) - len(gone)


def test_lost_rows_stay_paired(context):
    """A resample draws the same rows for a system that lost some, and takes its mean over the others."""
    columns = np.random.default_rng(3).random((50, 2))
    broken = columns.copy()
    broken[[4, 9]] = np.nan
    whole = estimate(columns, lambda means: means[..., 0], context(), "documents")
    rest = estimate(broken, lambda means: means[..., 0], context(), "documents")
    assert rest.n == 48
    assert rest.value == pytest.approx(columns[np.isfinite(broken[:, 0]), 0].mean())
    assert np.corrcoef(whole.replicates, rest.replicates)[0, 1] > 0.9


def test_comparisons_and_ratings_lose_their_rows(context, score):
    """Each half is what it is without the lost rows."""
    choice = np.arange(len(TEXTS), dtype=np.int8) % 2
    ratings = {"clarity": np.arange(len(TEXTS), dtype=np.float64) % 5}

    def data(rows):
        take = lambda column: tuple(column[i] for i in rows)  # noqa: E731
        shifted = (*TEXTS[1:], TEXTS[0])
        return HumanPreferences(
            SummaryComparisons(take(IDS), take(TEXTS), take(DOCUMENTS.summaries), take(shifted), choice[rows]),
            SummaryRatings(take(IDS), take(TEXTS), take(DOCUMENTS.summaries), {"clarity": ratings["clarity"][rows]}),
        )

    everything = np.arange(len(TEXTS))
    # A text stands in two comparisons (as source, and as another's second summary), and in one rating.
    found = preference.evaluate_system(system("number 17 "), data(everything), context())
    compared = preference.evaluate_system(system(), data(np.delete(everything, [16, 17])), context())
    rated = preference.evaluate_system(system(), data(np.delete(everything, [17])), context())
    for name in preference.CHOICES:
        assert score(found, name).value == pytest.approx(score(compared, name).value)
    assert score(found, "score", "clarity").value == pytest.approx(score(rated, "score", "clarity").value)
    assert [skip.count for skip in found.skipped] == [2, 1]


def test_a_lost_member_drops_itself(context, score):
    """Clusters are those of the other members."""
    labels = tuple(text.split()[1] for text in TEXTS)

    def data(rows):
        take = lambda column: tuple(column[i] for i in rows)  # noqa: E731
        return LabelledTexts(take(IDS), take(TEXTS), take(labels), ("",) * len(rows))

    found = clustering.evaluate_system(system("number 17 ", "number 30 "), data(range(90)), context())
    rest = [i for i in range(90) if i not in (17, 30)]
    expected = clustering.evaluate_system(system(), data(rest), context())
    assert score(found, "v_measure").value == score(expected, "v_measure").value
    assert (score(found, "v_measure").n, found.skipped[0].count) == (88, 2)


def test_lost_documents_and_queries(context, score):
    """Retrieval is what it is without them; a query whose one relevant document is lost goes too."""
    queries = tuple(f"{text.split()[1]} and {text.split()[5].strip('.')} no. {i}" for i, text in enumerate(TEXTS))
    qrels = {f"q{i}": {f"d{i}": 1.0, f"d{(i + 7) % 90}": float(i != 17)} for i in range(90)}

    def data(documents, asked):
        corpus = Documents(tuple(IDS[i] for i in documents), tuple(TEXTS[i] for i in documents))
        names = Documents(tuple(f"q{i}" for i in asked), tuple(queries[i] for i in asked))
        judged = {q: {d: g for d, g in qrels[q].items() if d in corpus.ids} for q in names.ids}
        return RetrievalSet(corpus, names, judged)

    whole = list(range(90))
    found = retrieval.evaluate_system(system("number 17 ", "no. 40"), data(whole, whole), context())
    rest = [i for i in whole if i != 17]
    expected = retrieval.evaluate_system(system(), data(rest, [i for i in rest if i != 40]), context())
    for one in expected.scores:
        assert score(found, one.measure, one.variant).value == pytest.approx(one.value, abs=1e-12)
        assert score(found, one.measure, one.variant).n == one.n
    assert score(found, "ndcg@10", "original:all").n == 89
    left_out = [skip for skip in found.skipped if "left unchanged" not in skip.reason]
    assert [(skip.count, skip.examples) for skip in left_out] == [
        (1, ("d17",)), (1, ("q40",)), (1, ("q17",)),
    ]  # fmt: skip


@pytest.mark.parametrize("task", [robustness, sensitivity])
def test_over_a_twentieth_there_is_no_score(task, context, score):
    """What is left would be no fair sample: the value is missing and says why."""
    outcome = task.evaluate_system(system("river"), DOCUMENTS, context())
    headline = score(outcome, task.HEADLINE)
    assert headline.value is None
    assert headline.reason == ("18 of 90 documents could not be encoded: Too long: 9,000 tokens (over 5%, so no score)")
    assert outcome.components == {}
