"""One code for a language, however a result file writes it."""

from __future__ import annotations

import re

_ISO_639_3 = {
    "ar": "ara", "arb": "ara", "da": "dan", "de": "deu", "en": "eng", "es": "spa", "fr": "fra", "it": "ita",
    "ja": "jpn", "ko": "kor", "nb": "nob", "nl": "nld", "nn": "nno", "no": "nob", "nor": "nob", "pl": "pol",
    "pt": "por", "ru": "rus", "sv": "swe", "tr": "tur", "zh": "zho", "zho": "zho", "cmn": "zho",
}  # fmt: skip


def iso_639_3(code: str) -> str:
    """The three letters of ISO 639-3 that HUME's tables use; a script or region behind the code is left out.

    Arabic is always `ara` (also where a file says `arb`, its standard form), Norwegian always `nob`: the study's
    Norwegian is Bokmål. A code that is not known stays as it is, in small letters. Source: spec hume, trap T9.

    >>> [iso_639_3(code) for code in ("no", "nor", "arb_Arab", "eng-Latn", "da", "RU", "swa")]
    ['nob', 'nob', 'ara', 'eng', 'dan', 'rus', 'swa']
    """
    first = re.split(r"[-_]", code.strip())[0].lower()
    return _ISO_639_3.get(first, first)
