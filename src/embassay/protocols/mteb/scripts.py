"""Languages as MTEB writes them: ISO 639-3 and the script they are usually written in."""

from __future__ import annotations

_SCRIPTS = {
    "Arab": "ara arb fas pes pus snd uig urd",
    "Armn": "hye",
    "Beng": "asm ben",
    "Cyrl": "bel bul kaz kir mkd mon rus srp tat tgk ukr",
    "Deva": "hin mai mar nep npi san",
    "Ethi": "amh tir",
    "Geor": "kat",
    "Grek": "ell",
    "Gujr": "guj",
    "Guru": "pan",
    "Hans": "zho cmn",
    "Hebr": "heb yid",
    "Jpan": "jpn",
    "Khmr": "khm",
    "Knda": "kan",
    "Hang": "kor",
    "Laoo": "lao",
    "Mlym": "mal",
    "Mymr": "mya",
    "Orya": "ory",
    "Sinh": "sin",
    "Taml": "tam",
    "Telu": "tel",
    "Thai": "tha",
}
_SCRIPT = {lang: script for script, langs in _SCRIPTS.items() for lang in langs.split()}


def with_script(lang: str) -> str:
    """A language with its script; Latin where no other is known.

    >>> with_script("ara"), with_script("nob"), with_script("srp-Latn")
    ('ara-Arab', 'nob-Latn', 'srp-Latn')
    """
    return lang if "-" in lang else f"{lang}-{_SCRIPT.get(lang, 'Latn')}"
