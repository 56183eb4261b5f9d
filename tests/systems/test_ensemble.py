"""Ensembles and cleaned texts as systems: values, identities, searches, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.systems import SYSTEMS, open_system
from embassay.systems.ensemble import EnsembleMemberBaseline, SystemEnsemble
from embassay.text import open_tokenizer

TEXTS = ["The cat sat on the mat.", "A cat was sitting on a rug!", "Quantum fields.", "", "The cat sat on the mat."]


@pytest.fixture(scope="module")
def words():
    return open_tokenizer("words")


def opened(spec):
    return open_system(spec, tokenizer=open_tokenizer("words"))


def test_similarities_are_joined_in_spreads_above_unrelated_texts():
    """By the formula; equal texts have 1, and weights that are all twice as large change nothing."""
    system = opened("ensemble:jaccard+levenshtein?weights=1,3")
    a, b = TEXTS[:3], TEXTS[1:4]
    members = [opened(name).pairs(a, b).astype(float) for name in ("jaccard", "levenshtein")]
    top, bottom = 0.0, 0.0
    for weight, scale, own in zip((1, 3), system.member_scales, members, strict=True):
        top = top + weight * (own - scale.mean) / scale.spread
        bottom += weight * (1 - scale.mean) / scale.spread
    np.testing.assert_allclose(system.pairs(a, b), top / bottom, atol=1e-6)
    assert system.pairs(TEXTS, TEXTS).tolist() == [1.0] * 5
    assert opened("ensemble:jaccard+levenshtein?weights=2,6").pairs(a, b) == pytest.approx(system.pairs(a, b))
    rows, columns = np.triu_indices(5, 1)
    pairs = system.pairs([TEXTS[i] for i in rows], [TEXTS[j] for j in columns])
    np.testing.assert_allclose(system.distances(TEXTS), np.maximum(0, 1 - pairs), atol=1e-5)


def test_ranks_are_those_among_known_pairs_and_never_fall():
    """From 0 to 1, 1 for equal texts; a more similar text has no lower rank."""
    scale = EnsembleMemberBaseline(0.2, 0.1, np.array([0.1, 0.2, 0.2, 0.5]))
    found = scale.ranks(np.array([-1, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0]))
    assert (np.diff(found) >= 0).all()
    assert found[-1] == 1.0
    assert found[0] >= 0
    system = opened("ensemble:jaccard+wordllama?of=ranks")
    assert system.pairs(TEXTS, TEXTS).tolist() == [1.0] * 5
    values = system.pairs([TEXTS[0]] * 3, TEXTS[:3])
    assert 1 == values[0] > values[1] > values[2] >= 0


def test_a_value_does_not_depend_on_the_call_that_it_is_in():
    """So versions of a text in different calls can be compared."""
    for spec in ("ensemble:jaccard+wordllama", "ensemble:jaccard+wordllama?of=ranks"):
        system = opened(spec)
        alone = [float(system.pairs([a], [b])[0]) for a, b in pairwise(TEXTS)]
        np.testing.assert_allclose(system.pairs(TEXTS[:-1], TEXTS[1:]), alone, atol=1e-6)


@pytest.mark.parametrize("of", ["similarities", "ranks"])
def test_a_search_fuses_what_the_members_find_over_all_shards(of):
    """Whatever the shards; equal texts come in the order of the corpus; corpora apart and together."""
    corpus = [f"{one} {i % 7} of {i % 3}" for i in range(40) for one in ("cats", "mats")]
    queries = ["cats 3 of 1", "mats 2 of 2 cats"]
    system = opened(f"ensemble:bm25+jaccard?of={of}")
    whole = system.search(queries, corpus, 80)
    parts = list(system.search_shards(queries, [corpus[:50], corpus[50:]], 80))
    for row in range(2):
        scores = dict(zip(whole.indices[row].tolist(), whole.scores[row].tolist(), strict=True))
        apart = {
            place + offset: score
            for one, offset in zip(parts, (0, 50), strict=True)
            for place, score in zip(one.indices[row].tolist(), one.scores[row].tolist(), strict=True)
            if place >= 0
        }
        assert apart == pytest.approx(scores)
    both = list(system.search_corpora(queries, [corpus[:50], corpus[50:]], 1, 10))
    assert len(both) == 4
    np.testing.assert_array_equal(both[0].indices, system.search(queries, corpus[:50], 10).indices)
    together = [one.scores[0, 0] for one in both[2:]]
    assert max(together) == pytest.approx(whole.scores[0, 0])


def test_rank_fusion_is_the_weighted_sum_of_reciprocal_ranks():
    """Worked by hand: a text that is first and second has 2/61 + 1/62."""
    system = SystemEnsemble("a+b", opened=lambda _: opened("jaccard"), weights="2,1", of="ranks")
    lists = [(np.array([4, 7]), np.array([0.9, 0.5])), (np.array([7, 4]), np.array([8.0, 3.0]))]
    ids, scores = system._fuse_member_lists_of_query(lists)
    assert ids.tolist() == [4, 7]
    assert scores.tolist() == pytest.approx([2 / 61 + 1 / 62, 2 / 62 + 1 / 61], abs=1e-9)


def test_an_ensemble_is_named_by_its_members():
    """Its identity holds theirs, with weights; its kind is embedding as soon as one is."""
    system = opened("ensemble:wordllama%3Fdims=64+bm25?of=ranks&weights=1,2")
    assert opened(system.name).identity == system.identity
    for member in ("wordllama?dims=64", "bm25"):
        assert opened(member).identity in system.identity
    assert (system.kind, opened("ensemble:bm25+jaccard").kind) == ("embedding", "classical")
    assert system.identity != opened("ensemble:wordllama%3Fdims=64+bm25?of=ranks").identity
    assert SYSTEMS.parse_spec(system.name).target == "wordllama?dims=64+bm25"


@pytest.mark.parametrize(
    "spec",
    [
        "ensemble:bm25", "ensemble:bm25+jaccard?weights=1", "ensemble:bm25+jaccard?weights=1,x",
        "ensemble:bm25+jaccard?weights=1,-1", "ensemble:bm25+jaccard?dims=3", "ensemble:bm25+nosuch",
        "bm25?clean=spell", "ensemble:bm25+jaccard?of=votes",
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(spec):
    """Before anything is computed."""
    with pytest.raises(UsageError):
        opened(spec)
    with pytest.raises(UsageError, match="similar"):
        opened("ensemble:bm25+constant").pairs(["a"], ["b"])


def test_a_member_behind_a_server_is_refused(monkeypatch):
    """A plan could not tell its price."""
    monkeypatch.setenv("OPENAI_API_KEY", "made-up")
    with pytest.raises(UsageError, match="server"):
        opened("ensemble:openai:text-embedding-3-small+bm25")


@pytest.mark.parametrize("name", ["wordllama", "jaccard", "bm25", "ensemble:jaccard+wordllama"])
def test_cleaning_comes_before_any_system(name):
    """Values are those of the cleaned texts; names and identities say so."""
    plain, clean = opened(name), opened(f"{name}?clean=case,whitespace")
    noisy = ["THE  cat sat\non the mat.", "A CAT was sitting on a rug!", "quantum Fields."]
    tidy = ["the cat sat on the mat.", "a cat was sitting on a rug!", "quantum fields."]
    np.testing.assert_allclose(
        clean.pairs(noisy, TEXTS[:3]), plain.pairs(tidy, [t.lower() for t in TEXTS[:3]]), atol=1e-6
    )
    np.testing.assert_allclose(clean.distances(noisy), plain.distances(tidy), atol=1e-6)
    found, wanted = clean.search(noisy[:1], TEXTS, 3), plain.search(tidy[:1], [t.lower() for t in TEXTS], 3)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    assert clean.name.endswith("?clean=case,whitespace")
    assert clean.identity != plain.identity
    assert opened(f"{name}?clean=whitespace,case").identity == clean.identity
