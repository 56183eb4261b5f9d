"""Ids that are the same but for how they are written: what stands between the ids of a run and those of judgements."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

Writing = Callable[[str], str]


def _strip_quotes_and_brackets(name: str) -> str:
    return "".join(sign for sign in name if unicodedata.category(sign) != "Cf").strip(" \t\"'`<>[](){}")


def _strip_chunk_number(name: str) -> str:
    return re.sub(r"(?:[#@|:]+|[ _.-](?:chunk|part|passage|split|para|sent|p|c)?[ _.:-]?)\d+$", "", name)


def _strip_namespace_prefix(name: str) -> str:
    return re.sub(r"^[^_:/#|.-]+[_:/#|.-]+", "", name)


_FORMS: Mapping[str, Writing] = {
    "in quotation marks or brackets": _strip_quotes_and_brackets,
    "in a different Unicode normal form": lambda name: unicodedata.normalize("NFKC", name),
    "written as decimals (pandas does this to integers)": lambda name: re.sub(r"\.0+$", "", name),
    "with leading zeros": lambda name: re.sub(r"(?<!\d)0+(?=\d)", "", name),
    "in a different letter case": str.casefold,
    "with escaped characters (%20)": unquote,
    "with a path or namespace prefix": lambda name: re.split(r"[/\\]|::?", name)[-1],
    "with a file extension": lambda name: re.sub(r"\.[A-Za-z]\w{0,4}$", "", name),
    "of chunks, not documents": _strip_chunk_number,
    "with a name prefix": _strip_namespace_prefix,
    "with letters before the number": lambda name: re.sub(r"^\D*0*(?=\d+$)", "", name),
}
"""How ids may be written otherwise -> what undoes it."""
CHUNKED, _PREFIXED = "of chunks, not documents", "with a name prefix"
_NUMBERED = "with letters before the number"
"""Ways of writing that one side alone has: p3 and d3 are no two writings of one id, 3 and d3 are."""


@dataclass(frozen=True)
class IdSpellingMatch:
    """A way of writing under which `matched` ids of one side are ids of the other; `given` and `known` are such two."""

    words: str
    matched: int
    given: str
    known: str

    @property
    def describe_id_spelling_advice(self) -> str:
        """What to do about it."""
        return f"They match if {self.given!r} is {self.known!r}: one side has ids {self.words}. Use one form."


def find_nearest_id_form(given: Iterable[str], known: Collection[str]) -> IdSpellingMatch | None:
    """The way of writing under which most of the `given` ids, none of them known, are known; None where there is
    none."""
    ids, forms = list(given), {**_FORMS, "written otherwise": _normalise_id}
    by_form = {words: _pair_ids_of_same_form(ids, known, plain) for words, plain in forms.items()}
    by_form[CHUNKED] = _pair_ids_contained_in_each_other(ids, known, _strip_chunk_number)
    by_form[_PREFIXED] = _pair_ids_contained_in_each_other(ids, known, _strip_namespace_prefix)
    by_form[_NUMBERED] = [(a, b) for a, b in by_form[_NUMBERED] if a.isdecimal() != b.isdecimal()]
    candidates = [IdSpellingMatch(words, len(pairs), *pairs[0]) for words, pairs in by_form.items() if pairs]
    return max(candidates, key=lambda form: form.matched, default=None)


def _normalise_id(name: str) -> str:
    """An id with all ways of writing undone that lose nothing."""
    for words, plain in _FORMS.items():
        name = name if words in (CHUNKED, _PREFIXED, _NUMBERED) else plain(name)
    return name


def _pair_ids_of_same_form(ids: Iterable[str], known: Iterable[str], plain: Writing) -> list[tuple[str, str]]:
    by_form = {plain(name): name for name in known}
    return [(name, by_form[form]) for name in ids if (form := plain(name)) and form in by_form]


def _pair_ids_contained_in_each_other(
    ids: Collection[str], known: Collection[str], plain: Writing
) -> list[tuple[str, str]]:
    """Pair ids of which one is a part of the other, whichever side has the longer ones."""
    here = [(name, form) for name in ids if (form := plain(name)) in known]
    by_form = {plain(name): name for name in known}
    there = [(name, by_form[name]) for name in ids if name in by_form and by_form[name] != name]
    return max(here, there, key=len)
