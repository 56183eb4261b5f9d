"""Every ablation writes what the specification shows (spec rag 5.2)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from embassay.errors import UsageError
from embassay.protocols.rag.probes.bundles import (
    CONDITIONS,
    QUERIES,
    TITLES,
    AuthorName,
    BundleAuthorsAndTopics,
    Lang,
    NameProbeQuerySpecification,
    compose_bundle_texts,
    make_name_probe_bundles,
    make_pseudonyms,
    misspell_name,
    remove_diacritics,
)

ALICE = AuthorName("Alice", "Dupont")
JEAN = AuthorName("Jean-Pierre", "Martin")
OTHERS = (AuthorName("Bob", "Hill"), AuthorName("Eve", "Stone"), AuthorName("Jean-Pierre", "O’Neil"))


def bundle(lang: Lang = "en", author: AuthorName = ALICE, index: int = 7) -> NameProbeQuerySpecification:
    topic, other = ("Y", "Z") if lang == "en" else ("Forêt", "Œuvre")
    return NameProbeQuerySpecification(index, lang, author, OTHERS, topic, other, QUERIES[lang][0], TITLES[lang][0])


def written(condition: str, one: NameProbeQuerySpecification, seed: int = 12345) -> tuple[str, ...]:
    texts = CONDITIONS[condition].write(one, seed)
    return texts.query, *texts.passages


def test_there_are_eleven_conditions_in_four_groups() -> None:
    assert len(CONDITIONS) == 11
    assert next(iter(CONDITIONS)) == "base"
    assert {one.group for one in CONDITIONS.values()} == {"base", "identity", "orthography", "layout"}


def test_the_base_condition() -> None:
    assert written("base", bundle()) == (
        "Which works by Alice Dupont on Y?",
        "Research paper: 'Y'. Author: Alice Dupont.",
        "Research paper: 'Y'. Author: Bob Hill.",
        "Research paper: 'Y'. Author: Eve Stone.",
        "Research paper: 'Z'. Author: Alice Dupont.",
        "Research paper: 'Z'. Author: Jean-Pierre O’Neil.",
    )
    assert written("base", bundle("fr"))[:2] == (
        "Quels travaux de Alice Dupont sur Forêt ?",
        "Article de recherche : « Forêt ». Auteur : Alice Dupont.",
    )


@pytest.mark.parametrize(("lang", "mask"), [("en", "AUTHOR_007"), ("fr", "AUTEUR_007")])
def test_a_mask_makes_all_of_a_topic_identical(lang: Lang, mask: str) -> None:
    query, *passages = written("hard_name_mask", bundle(lang, index=1007))
    assert mask in query
    assert len(set(passages[:3])) == 1
    assert len(set(passages[3:])) == 1
    assert all(mask in passage for passage in passages)


def test_gibberish_is_the_same_in_query_and_passages() -> None:
    query, first, second, *_ = written("gibberish_name", bundle())
    assert "ID-9DC4BD" in query
    assert first == "Research paper: 'Y'. Author: ID-9DC4BD."
    assert "ID-9DC4BD" not in second


def test_pseudonyms_never_collide() -> None:
    names = [f"name {i}" for i in range(6000)]
    assert len(set(make_pseudonyms(names, 3).values())) == len(names)


def test_near_misses_change_the_impostors_only() -> None:
    query, *passages = written("edit_distance_near_miss", bundle())
    assert query == "Which works by Alice Dupont on Y?"
    authors = [passage.partition("Author: ")[2][:-1] for passage in passages]
    assert authors == ["Alice Dupont", "Alice Fupont", "Alide Duqont", "Alice Dupont", "Aloce Fupunt"]


@given(st.text(st.characters(categories=["Lu", "Ll"], max_codepoint=0x24F), min_size=4, max_size=20), st.integers(1, 3))
def test_a_near_miss_is_as_near_as_it_says(name: str, distance: int) -> None:
    name = unicodedata.normalize("NFC", name)
    assert Levenshtein.distance(name, misspell_name(name, distance)) == distance


def test_a_name_of_too_few_letters_cannot_be_missed() -> None:
    assert Levenshtein.distance("X Yz", misspell_name("X Yz", 3)) == 3
    with pytest.raises(UsageError, match="too few letters"):
        misspell_name("X Y", 3)


def test_labels_positions_and_orders() -> None:
    assert written("remove_label", bundle())[1] == "Research paper: 'Y'. Alice Dupont."
    assert written("remove_label", bundle("fr"))[1] == "Article de recherche : « Forêt ». Alice Dupont."
    assert written("author_position_shift", bundle())[1] == "Author: Alice Dupont. Research paper: 'Y'."
    assert (
        written("author_position_shift", bundle("fr"))[1] == "Auteur : Alice Dupont. Article de recherche : « Forêt »."
    )
    query, first, *_ = written("name_order_inversion", bundle())
    assert (query, first) == ("Which works by Alice Dupont on Y?", "Research paper: 'Y'. Author: Dupont, Alice.")


def test_initials_case_and_accents() -> None:
    query, first, *_ = written("initials_form", bundle(author=JEAN))
    assert (query, first) == ("Which works by J.-P. Martin on Y?", "Research paper: 'Y'. Author: J.-P. Martin.")
    query, first, *_, last = written("case_punct_perturb", bundle())
    assert query == "Which works by ALICE DUPONT on Y?"
    assert first.endswith("Author: ALICE DUPONT.")
    assert last.endswith("Author: Jean Pierre O'Neil.")
    assert remove_diacritics("Forêt, œuvre, Élodie") == "Foret, œuvre, Elodie"
    assert written("strip_diacritics", bundle("fr"))[1] == "Article de recherche : « Foret ». Auteur : Alice Dupont."
    assert written("strip_diacritics", bundle(author=AuthorName("Élodie", "Noël"))) == written(
        "base", bundle(author=AuthorName("Élodie", "Noël"))
    )


def test_unicode_is_stressed_in_the_passages_only() -> None:
    query, first, *_ = written("unicode_normalization_stress", bundle("fr", AuthorName("Élodie", "Noël")))
    assert query == unicodedata.normalize("NFC", query)
    assert first == unicodedata.normalize("NFD", "Article de recherche\u202f: « Forêt ». Auteur\u202f: Élodie Noël.")
    english = written("unicode_normalization_stress", bundle())[1]
    assert english == "Research paper\u202f: 'Y'. Author\u202f: Alice Dupont."


MATERIAL = BundleAuthorsAndTopics("fr", (ALICE, JEAN, *OTHERS), ("a", "b", "c"))


def test_runs_share_authors_and_topics_and_draw_the_rest() -> None:
    first, second = (make_name_probe_bundles(MATERIAL, 40, seed=seed) for seed in (1, 2))
    assert first == make_name_probe_bundles(MATERIAL, 40, seed=1)
    assert [(one.author, one.topic) for one in first] == [(one.author, one.topic) for one in second]
    assert [one.impostors for one in first] != [one.impostors for one in second]
    for one in first:
        assert one.author not in one.impostors
        assert len(set(one.impostors)) == 3
        assert one.other != one.topic
    assert {one.query for one in first} == set(QUERIES["fr"])
    assert {one.title for one in first} == set(TITLES["fr"])


def test_names_that_look_like_forms_are_left_alone() -> None:
    odd = NameProbeQuerySpecification(
        0, "en", AuthorName("{T}", "{A}"), OTHERS, "{A} and {T}", "z", QUERIES["en"][0], TITLES["en"][0]
    )
    assert compose_bundle_texts(odd).query == "Which works by {T} {A} on {A} and {T}?"


def test_groups_are_those_of_the_source() -> None:
    """Another order of the names is light orthography (spec rag 7), not layout."""
    groups: dict[str, set[str]] = {}
    for name, one in CONDITIONS.items():
        groups.setdefault(one.group, set()).add(name)
    assert groups["orthography"] == {
        "initials_form", "name_order_inversion", "case_punct_perturb", "strip_diacritics",
        "unicode_normalization_stress",
    }  # fmt: skip
    assert groups["layout"] == {"remove_label", "author_position_shift"}
