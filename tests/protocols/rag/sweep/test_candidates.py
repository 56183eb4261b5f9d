"""From an index's answers to final lists: fusion, copies, reranking, boost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import RankedCandidates
from embassay.protocols.rag.sweep.collection import PassagesToIndex
from embassay.protocols.rag.sweep.parts import CandidatePostprocessing, WordSearch, list_found_positions_and_scores
from embassay.search.bm25 import WordSearchHit
from embassay.search.fusion import FusionRule
from embassay.systems.rerankers.overlap import OverlapReranker

TEXTS = ("red fox runs", "blue fox sleeps", "red hen runs far", "red fox runs", "a whale sings")
PASSAGES = PassagesToIndex(tuple("abcde"), TEXTS, np.arange(5))
WORDS = WordSearch.of(PASSAGES, depth=3, c=60)
SCORE = OverlapReranker().score


def test_fusion_is_the_spec_s_example():
    """Dense a b c d, words c a e: a c b e d with these scores (spec rag 3.4)."""
    places, scores = WORDS.fuse_dense_and_word_lists(
        ((0, 1, 2, 3), (0.0,) * 4), [WordSearchHit("c", 3.0), WordSearchHit("a", 2.0), WordSearchHit("e", 1.0)]
    )
    assert [PASSAGES.ids[place] for place in places] == ["a", "c", "b", "e", "d"]
    assert scores == pytest.approx((0.03252247, 0.03226646, 0.01612903, 0.01587302, 0.015625), abs=1e-8)


def test_fusion_by_score_takes_the_scores_of_both():
    """A weight of .9 on vectors keeps their order among equal words; without words the order is theirs."""
    hits = [WordSearchHit("c", 3.0), WordSearchHit("a", 2.0)]
    places, scores = WORDS.fuse_dense_and_word_lists(((0, 1, 2), (0.9, 0.5, 0.1)), hits, FusionRule("convex", 0.9))
    assert [PASSAGES.ids[place] for place in places] == ["a", "b", "c"]
    assert scores[0] == pytest.approx(1.8 + 0.2 * 2 / 3)
    assert WORDS.fuse_dense_and_word_lists(((1, 0), (0.5, 0.2)), [], FusionRule("dbsf"))[0] == (1, 0)


def test_words_find_to_their_depth_and_score_any_passage():
    """What shares no word has 0; the scores are those of the search."""
    hits = WORDS.find_bm25_hits("red fox")
    assert len(hits) == 3
    scores = WORDS.scores("red fox", range(5))
    assert scores[4] == 0
    assert {hit.id: hit.score for hit in hits} == {hit.id: scores["abcde".index(hit.id)] for hit in hits}


def test_places_that_are_not_there_are_left_out():
    """A list that is shorter ends in -1."""
    ranked = RankedCandidates(np.array([[2, 0, -1]]), np.array([[0.5, 0.25, -np.inf]]))
    assert list_found_positions_and_scores(ranked, 0) == ((2, 0), (0.5, 0.25))


def test_copies_go_before_the_reranker_sees_them():
    """The first of equal texts stays; the reranker is given the others only."""
    seen = []

    def score(query, texts):
        seen.extend(texts)
        return SCORE(query, texts)

    final = CandidatePostprocessing(PASSAGES, None, score, deduplicate=0.9)("red fox", (0, 3, 1), (3.0, 2.0, 1.0))
    assert final.candidates == (0, 1)
    assert seen == [TEXTS[0], TEXTS[1]]
    plain = CandidatePostprocessing(PASSAGES, None, None, deduplicate=0.9)("red fox", (0, 3, 1), (3.0, 2.0, 1.0))
    assert (plain.places, plain.scores, plain.raw) == ((0, 1), (3.0, 1.0), None)


def test_equal_scores_keep_the_order_in_which_they_were_found():
    """No candidate gains by its place in the corpus."""
    final = CandidatePostprocessing(PASSAGES, None, lambda _, texts: np.zeros(len(texts), np.float32))(
        "x", (4, 1, 3), (3, 2, 1)
    )
    assert final.places == (4, 1, 3)


def test_a_boost_moves_what_words_prefer():
    """A reranker without an opinion leaves it to the words; the raw scores stay those of the reranker."""
    ending = CandidatePostprocessing(PASSAGES, WORDS, lambda _, texts: np.zeros(len(texts), np.float32), boost=1.0)
    final = ending("whale", (0, 1, 4), (3, 2, 1))
    assert final.places == (4, 0, 1)
    assert final.raw.tolist() == [0, 0, 0]


@given(st.permutations(range(5)), st.text("redfoxhn ", max_size=12), st.sampled_from([0.0, 0.3, 0.9]))
def test_an_ending_orders_and_never_invents(order, query, threshold):
    """Final lists are of the candidates, each once, best first."""
    final = CandidatePostprocessing(PASSAGES, WORDS, SCORE, threshold, 0.5)(query, tuple(order), (0.0,) * 5)
    assert len(set(final.places)) == len(final.places)
    assert set(final.places) == set(final.candidates) <= set(order)
    assert list(final.scores) == sorted(final.scores, reverse=True)
