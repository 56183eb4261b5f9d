"""Ids that are the same but for how they are written: what stands between the ids of a run and those of judgements."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

Writing = Callable[[str], str]


def _without_quotes(name: str) -> str:
    return "".join(sign for sign in name if unicodedata.category(sign) != "Cf").strip(" \t\"'`<>[](){}")


def _document_of_chunk(name: str) -> str:
    return re.sub(r"(?:[#@|:]+|[ _.-](?:chunk|part|passage|split|para|sent|p|c)?[ _.:-]?)\d+$", "", name)


_FORMS: Mapping[str, Writing] = {
    "in quotation marks or brackets": _without_quotes,
    "in another normal form of Unicode": lambda name: unicodedata.normalize("NFKC", name),
    "as decimals (pandas makes them of integers)": lambda name: re.sub(r"\.0+$", "", name),
    "with leading zeros": lambda name: re.sub(r"(?<!\d)0+(?=\d)", "", name),
    "in other letter case": str.casefold,
    "with escaped signs (%20)": unquote,
    "with a path or namespace before them": lambda name: re.split(r"[/\\]|::?", name)[-1],
    "with the ending of a file": lambda name: re.sub(r"\.[A-Za-z]\w{0,4}$", "", name),
    "of chunks of the documents": _document_of_chunk,
    "with letters before the number": lambda name: re.sub(r"^\D+(?=\d+$)", "", name),
}
"""How ids may be written otherwise -> what undoes it."""
_NUMBERED = "with letters before the number"


@dataclass(frozen=True)
class Form:
    """A way of writing under which `matched` ids of one side are ids of the other; `given` and `known` are such two."""

    words: str
    matched: int
    given: str
    known: str

    @property
    def told(self) -> str:
        """What to do about it."""
        return f"They match if {self.given!r} is {self.known!r}: one side has ids {self.words}. Write both alike."


def nearest_form(given: Iterable[str], known: Collection[str]) -> Form | None:
    """The way of writing under which most of the `given` ids, none of them known, are known; None where there is none."""
    ids = list(given)
    forms = (
        _form(words, plain, ids, known) for words, plain in {**_FORMS, "written otherwise": _all}.items()
    )
    return max((form for form in forms if form is not None), key=lambda form: form.matched, default=None)


def _all(name: str) -> str:
    for words, plain in _FORMS.items():
        name = name if words == _NUMBERED else plain(name)
    return name


def _form(words: str, plain: Writing, ids: Iterable[str], known: Iterable[str]) -> Form | None:
    by_form = {plain(name): name for name in known}
    pairs = [(name, by_form[plain(name)]) for name in ids if plain(name) and plain(name) in by_form]
    if words == _NUMBERED:  # p3 and d3 are no two writings of one id; 3 and d3 are
        pairs = [(a, b) for a, b in pairs if a.isdecimal() or b.isdecimal()]
    return Form(words, len(pairs), *pairs[0]) if pairs else None
