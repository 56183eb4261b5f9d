"""Task 5: shares of nDCG@10 and the tie rule."""

from dataclasses import replace

import cloudpickle
import numpy as np
import pytest

from embassay.protocols.sage.retrieval import (
    compute_harmonic_retention,
    compute_ndcg_retention,
    evaluate_system,
    merge_version_rankings,
)
from embassay.protocols.sage.tasks import RETRIEVAL_EDITS
from embassay.records import Documents, RetrievalSet
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.runs.execution import HERE
from embassay.search import exact as sharding
from embassay.systems import open_system
from embassay.systems.cosine import Cosine
from embassay.systems.encoders.wordllama import WordLlamaEncoder
from embassay.text import open_tokenizer

CORPUS = Documents(
    tuple(f"d{i}" for i in range(12)),
    tuple(f"word{i} is here. The {i} must be seen! It can go on for a while, w{i}x w{i}y w{i}z." for i in range(12)),
)
QUERIES = Documents(("q1", "q2"), ("word3", "word7"))
DATA = RetrievalSet(CORPUS, QUERIES, {"q1": {"d3": 1.0}, "q2": {"d7": 2.0, "d1": 1.0}})


def test_18_edits():
    """Six edits, and insertion and removal at three positions and two sizes."""
    assert len(RETRIEVAL_EDITS) == len(set(RETRIEVAL_EDITS)) == 18


def test_merging_puts_the_original_before_its_copies(ranked):
    """Equal scores: original, then by shard and corpus order [A18]; `copies_first` is the other bound."""
    shards = [ranked([[0, 1]], [[0.9, 0.5]]), ranked([[0, 1]], [[0.9, 0.7]]), ranked([[2, -1]], [[0.9, -np.inf]])]
    shard, index, score = merge_version_rankings(shards, 4)
    assert (shard[0].tolist(), index[0].tolist()) == ([0, 1, 2, 1], [0, 0, 2, 1])
    assert score[0].tolist() == [0.9, 0.9, 0.9, 0.7]
    shard, _, _ = merge_version_rankings(shards, 4, copies_first=True)
    assert shard[0].tolist() == [1, 2, 0, 1]


def test_a_system_blind_to_edits_keeps_little_of_an_augmented_corpus(pairwise, context, score):
    """Scores by document number only: every copy ties with its original, which still comes first."""

    def by_number(query, document):
        return float(query.strip("word") in document.lower().replace("0", "o") or query in document)

    outcome = evaluate_system(pairwise(lambda q, d: float(q in d)), DATA, context())
    assert score(outcome, "ndcg@10", "original").value > 0
    assert score(outcome, "tie_share", "augmented").value == 1
    worst = evaluate_system(pairwise(lambda q, d: float(q in d)), DATA, context(ties="worst"))
    assert score(worst, "retention").value < score(outcome, "retention").value


def test_replaced_corpora_of_an_unshaken_system_keep_everything(pairwise, context, score):
    """A system that sees only what no edit touches (the id, given through a table) keeps all of its nDCG."""
    texts = {text: i for i, text in enumerate(CORPUS.texts)}

    def oracle(query, document):
        number = int(query.removeprefix("word"))
        return 1.0 if texts.get(document) == number else 0.0

    outcome = evaluate_system(pairwise(oracle), DATA, context())
    assert score(outcome, "ndcg@10", "augmented").value == score(outcome, "ndcg@10", "original").value
    assert score(outcome, "retention").value == 1
    assert score(outcome, "retention", "augmented").value == 1
    assert outcome.counts["texts"] == 19 * 12


def test_zero_clean_ndcg_is_undefined(pairwise, context, score):
    """A share of nothing has no value: a reason instead."""
    outcome = evaluate_system(
        pairwise(lambda q, d: -float(len(d)) if "word3" in d or "word7" in d or "word1" in d else 1.0),
        RetrievalSet(CORPUS, QUERIES, {"q1": {"d3": 1.0}, "q2": {"d7": 1.0}}),
        context(),
    )
    if score(outcome, "ndcg@10", "original").value == 0:
        assert score(outcome, "retention").value is None
        assert "nDCG@10 is 0" in score(outcome, "retention").reason


def test_harmonic_mean_and_share():
    """18 equal shares have that share as their mean; one 0 makes it 0; a clean 0 is undefined."""
    assert compute_harmonic_retention(np.array([0.25] * 18 + [0.5])) == pytest.approx(0.5)
    assert compute_harmonic_retention(np.array([0.0] + [0.5] * 17 + [0.5])) == 0
    assert compute_ndcg_retention(np.array([0.3, 0.6])) == pytest.approx(0.5)
    assert np.isnan(compute_ndcg_retention(np.array([0.3, 0.0])))


def test_without_its_own_document_a_query_has_the_corpus_without_it(pairwise, context, score):
    """A query that is a document: neither it nor a copy of it is found, and its judgement of itself does not count."""
    system = pairwise(lambda q, d: float(len(set(q.lower().split()) & set(d.lower().split()))) + 1 / len(d))
    asked = Documents(("d3",), (CORPUS.texts[3],))
    data = RetrievalSet(CORPUS, asked, {"d3": {"d3": 1.0, "d5": 1.0, "d11": 2.0}})
    rows = [row for row in range(12) if row != 3]
    rest = Documents(tuple(CORPUS.ids[row] for row in rows), tuple(CORPUS.texts[row] for row in rows))
    alone = evaluate_system(system, RetrievalSet(rest, asked, {"d3": {"d5": 1.0, "d11": 2.0}}), context())
    found = evaluate_system(system, data, context(exclude_self=True))
    values = [(one.measure, one.variant, one.value) for one in found.scores]
    assert values == [(one.measure, one.variant, one.value) for one in alone.scores]
    assert "d3" not in found.rankings["doc_id"]
    assert (
        score(evaluate_system(system, data, context()), "ndcg@10", "original").value
        != score(found, "ndcg@10", "original").value
    )
    assert "own document left out" in score(found, "retention").method


def test_a_query_with_nothing_relevant_but_itself_does_not_count(pairwise, context, score):
    """It is left out and counted."""
    asked = Documents(("d3", "q2"), (CORPUS.texts[3], "word7"))
    data = RetrievalSet(CORPUS, asked, {"d3": {"d3": 1.0}, "q2": {"d7": 1.0}})
    found = evaluate_system(pairwise(lambda q, d: float(q in d)), data, context(exclude_self=True))
    (left,) = (one for one in found.skipped if "left unchanged" not in one.reason)
    assert (left.count, left.examples) == (1, ("d3",))
    assert score(found, "ndcg@10", "original").value == 1


def test_rankings_name_originals_and_copies(pairwise, context):
    """What was found is kept: document, which edit made the copy, score and gain, clean and augmented."""
    outcome = evaluate_system(pairwise(lambda q, d: float(q in d)), DATA, context())
    rows = [dict(zip(outcome.rankings, row, strict=True)) for row in zip(*outcome.rankings.values(), strict=True)]
    clean = [row for row in rows if row["version"] == "original" and row["query_id"] == "q1"]
    assert [row["rank"] for row in clean] == list(range(1, 11))
    assert clean[0] == {"query_id": "q1", "version": "original", "rank": 1, "doc_id": "d3", "edit": "",
                        "score": 1.0, "gain": 1.0}  # fmt: skip
    copies = [row for row in rows if row["version"] == "augmented" and row["edit"]]
    assert copies
    assert {row["edit"] for row in copies} <= set(RETRIEVAL_EDITS)


class Elsewhere:
    """Does the parts with copies that have been pickled, as another process would."""

    def __init__(self):
        self.sent = []

    def map(self, work, items):
        copy = cloudpickle.loads(cloudpickle.dumps(work))
        for item in items:
            self.sent.append(cloudpickle.dumps(item))
            yield cloudpickle.loads(cloudpickle.dumps(copy(cloudpickle.loads(self.sent[-1]))))

    def encoder(self, encoder, made):
        del made
        return encoder


SYSTEMS = ["bm25", "bm25?variant=okapi", "jaccard", "rouge", "levenshtein", "random", "constant", "wordllama"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_shards_and_other_processes_change_nothing(name, context, monkeypatch):
    """The same scores, items and rankings from one shard, from many, and from many done elsewhere."""
    system = open_system(name, tokenizer=open_tokenizer("words"))
    made = context(resamples=20)
    whole = evaluate_system(system, DATA, made)
    monkeypatch.setattr(sharding, "SHARD", 5)
    spread = Elsewhere()
    assert whole.skipped
    for other in (evaluate_system(system, DATA, made), evaluate_system(system, DATA, replace(made, spread=spread))):
        assert other.scores == whole.scores
        assert other.items == whole.items
        assert other.rankings == whole.rankings
        assert other.counts == whole.counts
        assert other.skipped == whole.skipped
    assert spread.sent


def test_what_copies_of_an_encoder_did_is_counted_at_home(tmp_path, context, monkeypatch):
    """Texts encoded, taken from the cache and cut, progress and failures: as without copies."""
    monkeypatch.setattr(sharding, "SHARD", 5)
    told = []
    for place, spread in (("here", HERE), ("there", Elsewhere())):
        advanced, kept = [], []
        encoder = CachedEncoder(
            WordLlamaEncoder(), EmbeddingCache.open(tmp_path / place / "e.sqlite"),
            progress=advanced.append, kept=kept.append,
        )  # fmt: skip
        outcome = evaluate_system(Cosine(encoder), DATA, replace(context(resamples=20), spread=spread))
        counts = (encoder.counts.encoded, encoder.counts.cached, encoder.counts.truncated)
        told.append((counts, sum(advanced), sum(kept), outcome.scores))
    assert told[0] == told[1]
    assert told[0][0][0] > 100


MIXED = Documents(
    ("en", "fr", "ru", "one"),
    ("The cat is here. It was red.", "Le chat est ici. Il était rouge.", "Кот был здесь. Он сидел.", "Cat!"),
)
ASKED = RetrievalSet(MIXED, Documents(("q",), ("cat",)), {"q": {"en": 1.0}})


def test_a_copy_that_an_edit_left_as_it_was_is_none(pairwise, context, score):
    """It takes no place in the augmented corpus, and is counted."""
    changed = set()

    def similar(query, document):
        del query
        changed.update({document} - set(MIXED.texts))
        return 0.9 if document == MIXED.texts[0] else 0.5 if document in MIXED.texts else 0.1

    found = evaluate_system(pairwise(similar), ASKED, context(retrieval_edits="negate,word_shuffle"))
    said = {one.reason: (one.count, one.examples) for one in found.skipped}
    assert said == {
        "negate: copies left unchanged": (2, ("ru", "one")),
        "word_shuffle: copies left unchanged": (1, ("one",)),
    }
    rows = [row for row in _rows(found) if row["version"] == "augmented"]
    assert [row["edit"] for row in rows[:4]] == [""] * 4
    assert {(row["edit"], row["doc_id"]) for row in rows[4:]} == {
        ("negate", "en"), ("negate", "fr"), ("word_shuffle", "en"), ("word_shuffle", "fr"), ("word_shuffle", "ru"),
    }  # fmt: skip
    assert len(changed) == 5


def test_an_edit_that_changes_no_document_is_no_evidence(pairwise, context, score):
    """Its corpus is not searched and its share has no value; other numbers rest on the other edits alone."""
    asked = replace(ASKED, corpus=Documents(MIXED.ids[2:], MIXED.texts[2:]), qrels={"q": {"ru": 1.0}})
    system = pairwise(lambda _, document: 1.0 if document.startswith("Кот") else 0.5)
    heard = []
    made = replace(context(retrieval_edits="negate,capitalize"), advance=heard.append)
    found = evaluate_system(system, asked, made)
    row = score(found, "retention", "replaced:negate")
    assert (row.value, row.reason) == (None, "the edit changed no document")
    assert found.counts["texts"] == 2 * 2
    assert score(found, "retention").method.startswith("1 of 18 edits, ")
    assert heard[0] == 2
    alone = evaluate_system(system, asked, context(retrieval_edits="capitalize"))
    assert score(found, "retention").value == score(alone, "retention").value
    nothing = evaluate_system(system, asked, context(retrieval_edits="negate"))
    assert [(one.value, one.reason) for one in nothing.scores] == [(None, "no edit changed any document")]
    assert nothing.components["retention"].reason == "no edit changed any document"


def test_a_row_is_negated_in_the_language_that_it_states(pairwise, context):
    """Before that of the dataset; a row that states none has that."""
    texts = ("Il est ici.", "Es ist da.", "It is here.")
    seen = []
    corpus = Documents(("a", "b", "c"), texts, langs=("fr", "de", ""))
    asked = replace(ASKED, corpus=corpus, qrels={"q": {"a": 1.0}})
    made = replace(context(retrieval_edits="negate"), lang="en")
    evaluate_system(pairwise(lambda _, document: seen.append(document) or 0.5), asked, made)
    assert {"Il n'est pas ici.", "Es ist nicht da.", "It is not here."} <= set(seen)


def test_a_choice_of_edits_makes_fewer_corpora(pairwise, context, score):
    """Two versions beside the clean one; every number that rests on them says so."""
    outcome = evaluate_system(
        pairwise(lambda q, d: float(q in d)), DATA, context(retrieval_edits="delete10,capitalize")
    )
    assert outcome.counts["texts"] == 3 * 12
    assert score(outcome, "retention").method.startswith("2 of 18 edits, bootstrap over")
    assert score(outcome, "retention", "replaced").method.startswith("2 of 18 edits, harmonic mean of 2 shares")
    assert "of 18 edits" not in score(outcome, "ndcg@10", "original").method
    shown = {one.variant for one in outcome.scores if one.variant.startswith("replaced:")}
    assert shown == {"replaced:capitalize", "replaced:delete10"}
    assert set(outcome.rankings["edit"]) <= {"", "capitalize", "delete10"}


@pytest.mark.parametrize("name", ["bm25", "bm25?variant=okapi", "jaccard"])
def test_the_clean_score_knows_nothing_of_the_copies(name, context, score):
    """nDCG on the clean corpus, and each replaced one, are the same whichever edits are searched beside them."""
    system = open_system(name, tokenizer=open_tokenizer("words"))
    whole = evaluate_system(system, DATA, context(resamples=20))
    found = system.search(DATA.queries.texts, DATA.corpus.texts, 10)
    kept = [row for row in _rows(whole) if row["version"] == "original"]
    assert [row["score"] for row in kept if row["query_id"] == "q1"] == found.scores[0].tolist()
    for edits in ("capitalize", "insertion:p=0.5,q=0,removal"):
        part = evaluate_system(system, DATA, context(resamples=20, retrieval_edits=edits))
        assert score(part, "ndcg@10", "original").value == score(whole, "ndcg@10", "original").value
        assert [row for row in _rows(part) if row["version"] == "original"] == kept
        for edit in part_edits(part):
            assert score(part, "retention", edit).value == score(whole, "retention", edit).value


def part_edits(outcome):
    return {one.variant for one in outcome.scores if one.variant.startswith("replaced:")}


def _rows(outcome):
    return [dict(zip(outcome.rankings, row, strict=True)) for row in zip(*outcome.rankings.values(), strict=True)]
