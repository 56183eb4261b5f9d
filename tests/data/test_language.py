"""Whether a wording is in the language of its text: translations are caught, good wordings are not rejected."""

from __future__ import annotations

import gzip
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from embassay.data import language
from embassay.data.language import count_letters_by_script, explain_why_languages_of_texts_differ

pytest.importorskip("py3langid")
SHARED = Path(os.environ.get("EMBASSAY_SHARED") or Path(__file__).parents[2] / ".." / "shared") / "data"

EN = "The minister announced new rules for small companies on Monday."
DE = "Der Minister kündigte am Montag neue Regeln für kleine Firmen an."
RU = "В понедельник министр объявил о новых правилах для малых компаний."
JA = "大臣は月曜日に中小企業向けの新しい規則を発表しました。"
SW = "Waziri alitangaza sheria mpya kwa kampuni ndogo siku ya Jumatatu."


@pytest.mark.parametrize(
    ("text", "wording", "lang"),
    [
        (EN, DE, "en"),
        (DE, EN, "deu"),
        (EN, RU, "und"),
        (RU, EN, "ru"),
        (JA, EN, "ja"),
        (SW, EN, "swa"),
        (DE, EN, "en-de"),
    ],
)
def test_translations_are_caught(text, wording, lang):
    """By script, or by the identifier where the script is the same; also when nobody states the language."""
    assert explain_why_languages_of_texts_differ(text, wording, lang)


@pytest.mark.parametrize(
    ("text", "wording", "lang"),
    [
        (EN, "New rules for small firms were announced on Monday by the minister.", "en"),
        ("OK", "Gut", "en"),
        ("12:30", "halb eins", "de"),
        ("IBM", "国际商业机器公司", "zh"),
        ("我用 Python 和 NumPy。", "NumPy 与 Python 我都用。", "zh"),
        ("Siehe http://example.com/seite", "http://example.com/seite ansehen", "de"),
        ("Jeg bor i Oslo og arbeider på et sykehus.", "Jeg har arbejde på et hospital og bor i Oslo.", "no"),
        ("", "x", "en"),
    ],
)
def test_good_wordings_pass(text, wording, lang):
    """The short, the mixed, and close relatives."""
    assert explain_why_languages_of_texts_differ(text, wording, lang) == ""


def test_codes_are_those_of_the_identifier():
    """Of its languages, by their shortest and their longest code, and of standard forms of wider ones."""
    labels = set(language._load_language_identifier().labels) - {"zxx"}
    assert [label for label in labels if language._parse_language_codes_of_label(label) != {label}] == []
    for stated, known in (("deu_Latn", "de"), ("nob", "no"), ("arb_Arab", "ar"), ("cmn", "zh"), ("npi", "ne")):
        assert language._parse_language_codes_of_label(stated) == {known}
    assert language._parse_language_codes_of_label("eng-bul") == {"en", "bg"}
    assert (
        language._parse_language_codes_of_label("und")
        == language._parse_language_codes_of_label("mul")
        == language._parse_language_codes_of_label("esperanto")
        == set()
    )


def test_scripts_alone(monkeypatch):
    """Without the identifier, one script in place of another is still seen."""
    monkeypatch.setattr(language, "_load_language_identifier", lambda: None)
    assert explain_why_languages_of_texts_differ(EN, DE) == ""
    assert explain_why_languages_of_texts_differ(EN, RU) == "written in CYRILLIC letters; the text is LATIN"


def test_letters_of_one_writing_count_as_one():
    """Kana and ideographs, full and half width."""
    assert count_letters_by_script("東京タワーﾀﾜｰＡB1!") == {"CJK": 8, "LATIN": 2}
    assert count_letters_by_script("𝒜𝓃 é") == {"LATIN": 3}


def rows(name: str) -> list[dict[str, str]]:
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("needs the development datasets")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "lang", "most"),
    [
        ("sts/stsb_en_test", "en", 0), ("sts/stsb_es_test", "es", 0), ("sts/stsb_zh_test", "zh", 1),
        ("sts/sts17_ar-ar_test", "ar", 0), ("sts/sick_r_test_trial", "en", 0), ("sts/stsb_en_test", "und", 0),
    ],
)  # fmt: skip
def test_false_rejections_among_pairs(name, lang, most):
    """The second text of a pair is as good as a paraphrase; the one of STS-B in Chinese is an English sentence."""
    pairs = [(row["text"], row["text2"]) for row in rows(name)]
    faults = [
        fault
        for a, b in (*pairs, *((b, a) for a, b in pairs))
        if (fault := explain_why_languages_of_texts_differ(a, b, lang))
    ]
    assert len(faults) <= most


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "lang"), [("sib200_dan_Latn", "dan"), ("masakhanews_hau", "hau"), ("masakhanews_swa", "swa")]
)
def test_false_rejections_among_small_languages(name, lang):
    """Any two texts of a set are in one language: at most one in 900 is rejected, which has a broken first letter."""
    texts = [row["text"] for row in rows(f"classification/{name}")]
    assert sum(bool(explain_why_languages_of_texts_differ(a, b, lang)) for a, b in pairwise(texts)) <= 1


@pytest.mark.shared
@pytest.mark.parametrize(
    ("text", "wording", "least"), [("en", "es", 0.85), ("es", "en", 0.85), ("en", "zh", 0.98), ("zh", "en", 0.98)]
)
def test_translated_pairs_are_caught(text, wording, least):
    """STS-B in two languages, its short sentences included."""
    pairs = zip(rows(f"sts/stsb_{text}_test"), rows(f"sts/stsb_{wording}_test"), strict=True)
    caught = [bool(explain_why_languages_of_texts_differ(a["text"], b["text"], text)) for a, b in pairs]
    assert sum(caught) / len(caught) >= least
