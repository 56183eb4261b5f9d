"""The items on which annotators disagree most, pair by pair, with what each answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import PairRecord

_SHORT = {
    "ara": "ar", "ben": "bn", "bul": "bg", "cat": "ca", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "eng": "en",
    "est": "et", "eus": "eu", "fas": "fa", "fin": "fi", "fra": "fr", "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu",
    "ind": "id", "isl": "is", "ita": "it", "jpn": "ja", "kor": "ko", "lav": "lv", "lit": "lt", "msa": "ms", "nld": "nl",
    "nno": "nn", "nob": "nb", "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slk": "sk", "slv": "sl", "spa": "es",
    "srp": "sr", "swa": "sw", "swe": "sv", "tam": "ta", "tel": "te", "tha": "th", "tur": "tr", "ukr": "uk", "urd": "ur",
    "vie": "vi", "zho": "zh",
}  # fmt: skip
"""ISO 639-3 to the tags of texts on a page, which take two letters where there are."""


@dataclass(frozen=True)
class DisputeRow:
    """An item: its texts, gold, every answer with who gave it, and how far apart they are in percent."""

    item: str
    texts: tuple[str, ...]
    gold: str
    answers: tuple[tuple[str, str], ...]
    apart: str
    exact: str


@dataclass(frozen=True)
class Disputes:
    """The items of one pair; `title` names it."""

    title: str
    lang: str
    is_marked: bool
    rows: tuple[DisputeRow, ...]


def disputes(pairs: Sequence[PairRecord]) -> tuple[Disputes, ...]:
    """The pairs that have such items. Reranking is answered by the places of documents (`is_marked`)."""
    return tuple(
        Disputes(
            pair.name, _bcp47(pair.lang), pair.family == "reranking",
            tuple(
                DisputeRow(
                    one.item, one.texts, one.gold, tuple(one.answers.items()), numbers.percent(one.apart),
                    f"{100 * one.apart:.6g}",
                )
                for one in pair.disputed
            ),
        )
        for pair in pairs
        if pair.disputed
    )  # fmt: skip


def _bcp47(code: str) -> str:
    """The tag that browsers know: two letters where a language has them.

    >>> _bcp47("eng"), _bcp47("nob"), _bcp47("fil")
    ('en', 'nb', 'fil')
    """
    return _SHORT.get(code, code)
