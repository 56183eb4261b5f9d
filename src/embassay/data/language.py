"""Which language a text is written in, as far as its letters tell it, and py3langid where that is installed."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from embassay.data.intake import find_language_by_code

_SHORTEST = 20
"""Characters from which on a language can be told; below, the script alone is looked at."""
_SURE, _RULED_OUT = 0.5, 0.05
"""Probability from which on a text is in a language, and below which it is not."""
_FEW_LETTERS = 4
_LOOKED_AT, _CERTAIN = 2_000, 0.9
"""Characters that are looked at, and the probability from which on a text is said to be in a language."""
_PRESENT = 0.1
"""Share of a text's letters from which on a script belongs to it."""

_ONE_SCRIPT = {
    **dict.fromkeys(("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO", "IDEOGRAPHIC", "KANGXI"), "CJK"),
    **dict.fromkeys(("MODIFIER", "MASCULINE", "FEMININE", "MICRO"), ""),
}
"""Chinese and Japanese count as one: a short Japanese text may have no kana, and the identifier knows them apart."""
_LANGUAGES = {
    "CJK": "zh ja yue wuu", "ARABIC": "ar fa ur ps arz ary", "CYRILLIC": "ru uk bg be mk kk ky mn tg",
    "ETHIOPIC": "am ti", "HANGUL": "ko", "HEBREW": "he", "GREEK": "el", "DEVANAGARI": "hi mr", "THAI": "th",
    "TAMIL": "ta", "TELUGU": "te", "BENGALI": "bn", "GEORGIAN": "ka", "ARMENIAN": "hy"
}  # fmt: skip
_SCRIPTS_OF = {lang: script for script, langs in _LANGUAGES.items() for lang in langs.split()}
"""The script of languages that are not written in Latin letters."""
_LABELS = {"bik": "bcl", "fil": "tl", "gn": "gug", "ki": "kik", "nb": "no"}
"""Codes that the identifier has others for."""
_CLOSE = (
    frozenset({"zh", "wuu", "yue"}), frozenset({"no", "nn", "nb", "da"}), frozenset({"bs", "hr", "sr"}),
    frozenset({"ar", "ary", "arz"}), frozenset({"id", "ms"}), frozenset({"es", "an", "ext", "gl"}),
    frozenset({"rw", "rn"}), frozenset({"en", "pcm"})
)  # fmt: skip
"""Languages that an identifier confuses, so one in place of another is no finding."""


def explain_why_languages_of_texts_differ(text: str, wording: str, lang: str = "und") -> str:
    """Explain why `wording` is not in the language of `text`; empty where it is, or can't be told.

    `lang` is what the data says of the text: ISO 639-1 or -3, also with a script or as a pair (`eng_Latn`, `en-ar`),
    `und` or `mul`. Where the language identifier is not installed, scripts alone are compared.

    >>> explain_why_languages_of_texts_differ("Ein Satz.", "これは文です。")
    'written in CJK letters; the text is LATIN'
    """
    stated = _parse_language_codes_of_label(lang)
    return _explain_script_mismatch(text, wording, stated) or _explain_identified_language_mismatch(
        text, wording, stated
    )


def can_identify_language() -> bool:
    """Whether languages can be identified: whether the identifier is installed."""
    return _load_language_identifier() is not None


def count_letters_by_script(text: str) -> Counter[str]:
    """Letters by script, named as Unicode names its letters (`LATIN`, `CYRILLIC`, `CJK` ...).

    >>> count_letters_by_script("Ω in 東京")
    Counter({'LATIN': 2, 'CJK': 2, 'GREEK': 1})
    """
    # Wide, narrow and mathematical letters are those that they stand for.
    counts = Counter(map(_find_letter_script, unicodedata.normalize("NFKC", text)))
    del counts[""]
    return counts


def _explain_script_mismatch(text: str, wording: str, stated: frozenset[str]) -> str:
    of_text, of_wording = count_letters_by_script(text), count_letters_by_script(wording)
    if not of_text or of_wording.total() < _FEW_LETTERS:
        return ""
    usual = {_SCRIPTS_OF.get(code, "LATIN") for code in stated}
    allowed = usual | {script for script, letters in of_text.items() if letters >= _PRESENT * of_text.total()}
    # A name or an address in Latin letters can outweigh a short sentence in another script.
    if sum(of_wording[script] for script in allowed) >= _PRESENT * of_wording.total():
        return ""
    return f"written in {of_wording.most_common(1)[0][0]} letters; the text is {of_text.most_common(1)[0][0]}"


def _explain_identified_language_mismatch(text: str, wording: str, stated: frozenset[str]) -> str:
    if len(wording) < _SHORTEST or _load_language_identifier() is None:
        return ""
    best, sure = _load_language_identifier().classify(wording)
    if sure < _SURE or (len(stated) == 1 and best in _list_kin_languages(next(iter(stated)))):
        return ""
    of_text, of_wording = _rank_languages(text), _rank_languages(wording)
    stated_known = stated & of_text.keys()
    expected = max(stated_known or of_text, key=of_text.__getitem__)
    kin = _list_kin_languages(expected)
    # A text that is not recognised itself (names, numbers, a rare spelling) says nothing about its wording, and one
    # whose language nobody states has to be long and clear.
    recognised = sum(of_text.get(code, 0.0) for code in kin) >= (_RULED_OUT if stated_known else _SURE)
    ruled_out = sum(of_wording.get(code, 0.0) for code in kin) < _RULED_OUT
    if not recognised or not ruled_out or not (stated_known or len(text) >= 2 * _SHORTEST):
        return ""
    return f"written in {best!r}, but the text is in {expected!r}"


def _list_kin_languages(lang: str) -> frozenset[str]:
    return next((group for group in _CLOSE if lang in group), frozenset({lang}))


def _parse_language_codes_of_label(lang: str) -> frozenset[str]:
    """The languages that a label names: two letters where there are, none for `und` and `mul`."""
    parts = (part for part in re.split(r"[-_/+, ]", lang.lower()) if part)
    codes = (find_language_by_code(part).prefer_macrolanguage().language or "und" for part in parts)
    names = frozenset(_LABELS.get(code, code) for code in codes if len(code) in (2, 3))
    return names - {"und", "mul", "zxx"}


@lru_cache(maxsize=65_536)
def _find_letter_script(sign: str) -> str:
    """The script of a letter; "" for what is none."""
    if not sign.isalpha():
        return ""
    first = unicodedata.name(sign, "").partition(" ")[0]
    return _ONE_SCRIPT.get(first, first)


@lru_cache(maxsize=4_096)
def _rank_languages(text: str) -> Mapping[str, float]:
    return dict(_load_language_identifier().rank(text))


@cache
def _load_language_identifier() -> Any:
    """Load py3langid's language identifier; None where it is not installed."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    # norm_probs gives probabilities in place of log probabilities.
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def explain_why_text_not_in_language(wording: str, lang: str) -> str:
    """Why `wording` is not in the language `lang`; empty where it is, or cannot be told: where it is short, or the
    identifier is not installed and the letters are those of `lang`.

    >>> explain_why_text_not_in_language("Wie lange dauert es?", "ja")
    'written in LATIN letters, not those of ja'
    """
    stated = _parse_language_codes_of_label(lang)
    usual = {_SCRIPTS_OF.get(code, "LATIN") for code in stated}
    letters = count_letters_by_script(wording)
    if stated and letters.total() >= _FEW_LETTERS and not any(letters[code] for code in usual):
        return f"written in {letters.most_common(1)[0][0]} letters, not those of {lang}"
    if not stated or len(wording) < _SHORTEST or _load_language_identifier() is None:
        return ""
    likely = _rank_languages(wording)
    expected = {code for name in stated for code in _list_kin_languages(name)}
    best = max(likely, key=likely.__getitem__)
    ruled_out = sum(likely.get(code, 0.0) for code in expected) < _RULED_OUT
    return f"written in {best!r}, not in {lang!r}" if ruled_out and likely[best] >= _SURE else ""


def detect_language(text: str) -> str:
    """The two letters of the language that a text seems to be in; empty where that is not sure, or nothing can tell."""
    if len(text) < 2 * _SHORTEST or _load_language_identifier() is None:
        return ""
    best, sure = _load_language_identifier().classify(text[:_LOOKED_AT])
    return str(best) if sure >= _CERTAIN else ""
