"""The base condition and the ten ablations of the name probe (spec rag 5.2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from embassay.protocols.rag.probes.names.bundles import Bundle, Written, write
from embassay.protocols.rag.probes.names.people import Person, in_other_case, near_miss, pseudonyms

Group = Literal["base", "identity", "orthography", "layout"]
_MASKS = {"en": "AUTHOR", "fr": "AUTEUR"}
_LABEL = re.compile(r"(?:Author:|Auteur ?:)\s*")
_STOPS = re.compile(r"\s?([:;!?])")
_NARROW_SPACE = "\u202f"


@dataclass(frozen=True)
class Condition:
    """A way to write a bundle; random choices, where there are any, follow from the seed of the run."""

    name: str
    group: Group
    summary: str
    write: Callable[[Bundle, int], Written]
    seeded: bool = False
    """Whether the seed makes a difference to it."""


def _masked(bundle: Bundle, _: int) -> Written:
    mask = f"{_MASKS[bundle.lang]}_{bundle.index % 1000:03d}"
    return write(bundle, lambda _: mask)


def _gibberish(bundle: Bundle, seed: int) -> Written:
    identifiers = pseudonyms([person.name for person in bundle.signers], seed)
    return write(bundle, lambda person: identifiers[person.name])


def _near_missed(bundle: Bundle, _: int) -> Written:
    missed = [Person("", near_miss(bundle.author.name, distance)) for distance in (1, 2, 3)]
    other = dict(zip(bundle.impostors, missed, strict=True))
    return write(bundle, in_passage=lambda person: other[person].family if person in other else person.name)


def _unlabelled(bundle: Bundle, _: int) -> Written:
    return _each(write(bundle), lambda text: _LABEL.sub("", text))


def _without_diacritics(bundle: Bundle, _: int) -> Written:
    return write(bundle) if bundle.lang == "en" else _each(write(bundle), without_diacritics)


def _stressed(bundle: Bundle, _: int) -> Written:
    plain = write(bundle)
    passages = tuple(
        _STOPS.sub(rf"{_NARROW_SPACE}\1", unicodedata.normalize("NFD", text)) for text in plain.passages
    )
    return Written(unicodedata.normalize("NFC", plain.query), passages)


CONDITIONS: Mapping[str, Condition] = {
    one.name: one
    for one in (
        Condition("base", "base", "names, label and layout as they are", lambda bundle, _: write(bundle)),
        Condition("hard_name_mask", "identity", "every author is one and the same token", _masked),
        Condition("gibberish_name", "identity", "every author is an identifier of six digits", _gibberish, seeded=True),
        Condition(
            "edit_distance_near_miss", "identity", "impostors are the author but for 1 to 3 letters", _near_missed
        ),
        Condition("remove_label", "layout", "no label before the author", _unlabelled),
        Condition("strip_diacritics", "orthography", "letters without accents (French)", _without_diacritics),
        Condition(
            "initials_form", "orthography", "given names as initials",
            lambda bundle, _: write(bundle, lambda person: person.with_initials),
        ),
        Condition(
            "name_order_inversion", "orthography", "family name first in the passages",
            lambda bundle, _: write(bundle, in_passage=lambda person: person.inverted),
        ),
        Condition(
            "case_punct_perturb", "orthography", "names in another case, without hyphens and curly apostrophes",
            lambda bundle, _: write(bundle, lambda person: in_other_case(person.name)),
        ),
        Condition(
            "author_position_shift", "layout", "the author before the title in the passages",
            lambda bundle, _: write(bundle, author_first=True),
        ),
        Condition(
            "unicode_normalization_stress", "orthography",
            "passages decomposed (NFD), with narrow spaces before : ; ! ?", _stressed,
        ),
    )
}  # fmt: skip
"""By name, `base` first."""


def without_diacritics(text: str) -> str:
    """The text without combining marks: NFD, no category Mn, NFC. Ligatures stay.

    >>> without_diacritics("Forêt, œuvre")
    'Foret, œuvre'
    """
    decomposed = unicodedata.normalize("NFD", text)
    kept = "".join(character for character in decomposed if unicodedata.category(character) != "Mn")
    return unicodedata.normalize("NFC", kept)


def _each(written: Written, change: Callable[[str], str]) -> Written:
    return Written(change(written.query), tuple(map(change, written.passages)))
