"""Negation: one pass over a versioned list, both directions.

Synonyms and changed facts: what they touch, what they leave, and that they are the same every time.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.text import PERTURBATIONS, perturb
from embassay.text.semantics import (
    _LISTS,
    AUXILIARIES,
    _draw_replacement_number_or_word,
    _read_synonym_table,
    build_negation_rules,
    detect_language_by_function_words,
    find_negation_language_of_code,
    negate_in_language,
    negate_text,
)

PARTS = ["is", "Is", "IS", "can", "Can", "CAN", "cannot", "ca", "wo", "will", "not", "NOT", "n't", "n’t", "N'T"]
PARTS += ["'t", " ", "  ", "\n", ".", "-", "scan", "isn't", "a", "_", "é", "do", "mu", "st", "nothing"]


def test_every_rule() -> None:
    """Each entry of the table holds in the middle of a text, in all three spellings."""
    for found, put in build_negation_rules().items():
        assert negate_text(f"it {found}.") == f"it {put}."
        assert negate_text(f"{found.capitalize()} it") == f"{put.capitalize()} it"
        assert negate_text(found.upper()) == put.upper()


def test_the_table_covers_the_list() -> None:
    """17 auxiliaries with three entries each, and four for can."""
    assert len(build_negation_rules()) == 3 * len(AUXILIARIES) + 4


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("It isn’t, and it ISN'T.", "It is, and it IS."),
        ("He can't; he can’t; he CAN'T; Can't he?", "He can; he can; he CAN; Can he?"),
        ("You can\nnot stay, you cannot.", "You can stay, you can."),
        ("Won't work, won’t, WON'T", "Will work, will, WILL"),
        ("It does n't, ca n't and wo n't.", "It does, can and will."),
        ("nothing is nothing", "nothing is not nothing"),
        ("is isn't is", "is not is is not"),
        ("This island, a scan, cans, whim", "This island, a scan, cans, whim"),
        ("is_it éis isé", "is_it éis isé"),
        ("The BBC is.", "The BBC is not."),
        ("has-been", "has not-been"),
        ("could've", "could not've"),
        ("iS wAS", "iS wAS"),
        ("", ""),
    ],
)
def test_examples(text: str, negated: str) -> None:
    """Contractions with both apostrophes, words that only look alike, spellings, joined words."""
    assert negate_text(text) == negated


def _plainly(text: str) -> str:
    """The same rules as a plain pattern, word boundary first, nothing arranged for speed."""
    spelled = "|".join(sorted((form for verb in (*AUXILIARIES, "can") for form in _forms(verb)), key=len, reverse=True))
    no, nt = "(?:not|Not|NOT)", r"\s?[nN]['’][tT]"
    pattern = rf"\b(?:(ca|Ca|CA|wo|Wo|WO){nt}|(can|Can|CAN){no}|({spelled})(\s+{no}|{nt})?)\b"

    def replace(match: re.Match[str]) -> str:
        irregular, can, verb, negation = match.groups()
        if irregular:
            affirmative = {"ca": "can", "wo": "will"}[irregular.lower()]
            return next(
                form
                for form in _forms(affirmative)
                if form.startswith(irregular[0]) and (form.isupper() == irregular.isupper())
            )
        if can or negation:
            return can or verb
        return verb + ("" if verb.lower() == "can" else " ") + ("NOT" if verb.isupper() else "not")

    return re.sub(pattern, replace, text)


def _forms(word: str) -> tuple[str, str, str]:
    return word, word.capitalize(), word.upper()


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_agrees_with_a_plain_pattern(text: str) -> None:
    """The pattern arranged for speed finds what the plain one finds."""
    assert negate_text(text) == _plainly(text)


@given(
    st.sampled_from(sorted(build_negation_rules())),
    st.sampled_from(["", "He ", "It. "]),
    st.sampled_from(["", ".", " it"]),
)
def test_twice_is_the_affirmative_or_the_same(found: str, before: str, after: str) -> None:
    """Negating twice gives the affirmative back, with contractions written out."""
    affirmative = found if "not" not in found and "n't" not in found else build_negation_rules()[found]
    twice = negate_text(negate_text(before + found + after))
    assert twice in (before + affirmative + after, before + build_negation_rules()[affirmative] + after)


OTHERS = [
    ("fr", "Le ciel est bleu.", "Le ciel n'est pas bleu."),
    ("fr", "Elle s'est levée, il y a du vent.", "Elle ne s'est pas levée, il n'y a pas du vent."),
    ("fr", "C'est vrai: j'ai faim.", "Ce n'est pas vrai: je n'ai pas faim."),
    ("fr", "A-t-il faim? Peut-être.", "N'a-t-il pas faim? Peut-être."),
    ("fr", "L'est du pays est beau.", "L'est du pays n'est pas beau."),
    ("fr", "Nous l’avons vu, vous lui devez tout.", "Nous ne l’avons pas vu, vous lui devez tout."),
    ("de", "Das ist gut, weil er krank ist.", "Das ist nicht gut, weil er krank nicht ist."),
    ("de", "Kann er? Sie müssen gehen.", "Kann er nicht? Sie müssen nicht gehen."),
    ("es", "Se puede ver. La era moderna es larga.", "No se puede ver. La era moderna no es larga."),
    ("es", "Ella lo ha visto; está aquí.", "Ella no lo ha visto; no está aquí."),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "affirmed", "denied"), OTHERS)
def test_other_languages_both_ways(lang: str, affirmed: str, denied: str) -> None:
    """The auxiliary of a clause is negated where the language puts it, and the negation goes again."""
    assert negate_in_language(affirmed, lang) == denied
    assert negate_in_language(denied, lang) == affirmed


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("fr", "Il n'a jamais vu cela."), ("fr", "Personne ne peut."), ("fr", "Elle mange une pomme."),
        ("de", "Er hat keine Zeit."), ("es", "Nunca es tarde."), ("rus", "Это не так."), ("ita", "La casa è bella."),
    ],
)  # fmt: skip
def test_what_no_rule_turns_stays(lang: str, text: str) -> None:
    """Never, nobody and none, a verb that is in no table, and a language without rules."""
    assert negate_in_language(text, lang) == text


def test_a_negation_elsewhere_in_the_clause_goes() -> None:
    """German puts it behind objects; any verb, and spoken French without *ne*."""
    assert negate_in_language("Er will heute nicht kommen.", "de") == "Er will heute kommen."
    assert negate_in_language("Il ne mange pas de pain. C'est pas grave.", "fr") == "Il mange de pain. C'est grave."
    assert negate_in_language("No come pan.", "es") == "Come pan."


WORDS = {
    "fr": "le chat est a ne pas n' y se s' l' nous peut jamais C' il Il est-il , . 1 \n",
    "de": "der Hund ist hat nicht Nicht kein er will , . 1 \n",
    "es": "el perro es ha no No se lo era la nunca , . 1 \n",
}


@given(st.sampled_from(sorted(WORDS)), st.data())
def test_nothing_but_the_negation_changes(lang: str, data: st.DataObject) -> None:
    """Of any text: the other words stay in their order; English is
    as `negate` has it, whatever the code."""
    text = " ".join(data.draw(st.lists(st.sampled_from(WORDS[lang].split(" ")), max_size=14)))
    found = negate_in_language(text, lang)

    def rest(of: str) -> list[str]:
        plain = re.sub(r"\b(?:ne|pas|nicht|no)\b|\bn['’]|['’]", " ", of.lower())
        return [re.sub(r"^([cj])e$", r"\1", word) for word in plain.split()]

    assert rest(found) == rest(text)
    assert negate_in_language(text, "eng") == negate_text(text)


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    """Nothing raises, and the result is the same each time."""
    assert [negate_in_language(text, lang) for lang in ("", "fr", "de", "es", "xx")] == [
        negate_in_language(text, lang) for lang in ("", "fr", "de", "es", "xx")
    ]


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("It can't be.", "en"), ("Why hasn't my card been delivered?", "en"), ("A man wearing a hat.", "en"),
        ("Las Vegas is hot.", "en"), ("No damage after the quake.", "en"), ("Le chat dort sur la table.", "fr"),
        ("Der Hund liegt auf dem Sofa.", "de"), ("El perro duerme en la casa.", "es"), ("Das", ""), ("Привет", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_language_a_text_seems_to_be_in(text: str, lang: str) -> None:
    """By its function words; English of equals, none where there is too little."""
    assert detect_language_by_function_words(text) == lang


def test_codes_of_languages() -> None:
    """Two letters, three and regions."""
    assert [find_negation_language_of_code(code) for code in ("en", "eng", "de-AT", "FRA", "es_MX", "zh", "")] == [
        "en", "en", "de", "fr", "es", "", "",
    ]  # fmt: skip


WORDS_SEMANTICS = re.compile(r"\w+")


def edited(name, text, seed=1):
    return perturb(PERTURBATIONS.build(name), text, seed=seed, text_id="a")


@given(st.text(), st.sampled_from(["synonyms", "facts"]))
def test_any_text_passes_and_comes_out_the_same_twice(text, name):
    """Also one without anything to change."""
    assert edited(name, text) == edited(name, text)


def test_synonyms_change_words_of_the_list_alone_and_at_least_one():
    """In the case of the word; about half of many."""
    text = "Doctors often help children. They BEGIN to gather small gifts, and the doctor was happy."
    for seed in range(20):
        before, after = WORDS_SEMANTICS.findall(text), WORDS_SEMANTICS.findall(edited("synonyms", text, seed))
        changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert changed
        assert all(_read_synonym_table()[a.lower()] == b.lower() for a, b in changed)
        assert all(a[0].isupper() == b[0].isupper() and a.isupper() == b.isupper() for a, b in changed)
    assert edited("synonyms", "An old car.") == "An old automobile."
    assert edited("synonyms", "Nothing of ours") == "Nothing of ours"


def test_facts_are_changed_everywhere_alike():
    """Numbers keep their form, names change places, words of a list become others of it."""
    text = "In 1998 Berlin sent 1,250 men to Oslo on 3 May. Of the 1,250 men, two saw Berlin again in 1998."
    found = edited("facts", text)
    before, after = WORDS_SEMANTICS.findall(text), WORDS_SEMANTICS.findall(found)
    assert len(before) == len(after)
    new = {}
    for a, b in zip(before, after, strict=True):
        assert new.setdefault(a, b) == b
    assert new["Berlin"] == "Oslo"
    assert new["Oslo"] == "Berlin"
    assert new["1998"] != "1998"
    assert 1978 <= int(new["1998"]) <= 2018
    assert new["1"] != "1"
    assert new["250"] == "250"
    assert new["two"] != "two"
    assert new["May"] != "May"
    assert 1 <= int(new["3"]) <= 28
    assert new["men"] == "men"
    assert new["In"] == "In"


@pytest.mark.parametrize("text", ["We may march on.", "He took B12 and a 3rd one.", "Nothing here. Then this.", ""])
def test_what_is_no_fact_stays(text):
    """Modal may, parts of words, words that begin a sentence."""
    assert edited("facts", text) == text


def test_a_single_name_becomes_one_of_nobodys():
    """And the same one in all places."""
    found = edited("facts", "we met Anna, and Anna left")
    assert "Anna" not in found
    assert len(set(re.findall(r"[A-Z]\w+", found))) == 1


@given(st.integers(0, 2**32 - 1), st.from_regex(r"[0-9]{1,4}([.,][0-9]{1,3})?", fullmatch=True))
def test_another_number_is_another_number(key, number):
    """Of the same form, whatever was drawn."""
    found = _draw_replacement_number_or_word("number", number, key)
    assert found != number
    assert re.sub(r"\d", "9", found) == re.sub(r"\d", "9", number)


@given(st.integers(0, 2**32 - 1), st.sampled_from([one for some in _LISTS for one in some]))
def test_another_word_of_the_list(key, word):
    """Never itself."""
    found = _draw_replacement_number_or_word("listed", word, key)
    assert found != word
    assert any(word in some and found in some for some in _LISTS)
