"""Is more lost in English or in other languages?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from embassay.protocols.pteb.analysis.drops import Drop
from embassay.protocols.pteb.analysis.groups import SEED, Contrast, Group, contrast, grouped
from embassay.records import Skipped

ENGLISH, OTHER, BOTH = "English", "other languages", "English and another"
_ENGLISH = {"en", "eng"}
_UNKNOWN = {"", "und", "mul"}


@dataclass(frozen=True)
class ByLanguage:
    """Mean drops per language, of English, of other languages and of pairs across the two, and English minus other.

    `same_datasets` is the same difference within the datasets that have English and another language: what differs
    between datasets is not in it. `missing` counts cells whose language is not known.
    """

    languages: tuple[Group, ...]
    groups: tuple[Group, ...]
    difference: Contrast
    same_datasets: Contrast
    missing: tuple[Skipped, ...]


def by_language(drops: Sequence[Drop], *, seed: int = SEED) -> ByLanguage:
    """The drops of `drops(rows, by_language=True)` by language."""
    known = [drop for drop in drops if group_of(drop.lang)]
    unknown = [f"{drop.system} {drop.place}" for drop in drops if not group_of(drop.lang)]
    groups = {
        place: {group_of(drop.lang) for drop in known if drop.place == place} for place in _places(known)
    }
    shared = [drop for drop in known if {ENGLISH, OTHER} <= groups[drop.place]]
    return ByLanguage(
        grouped(known, lambda drop: drop.lang, sorted({drop.lang for drop in known}), seed=seed),
        grouped(known, lambda drop: group_of(drop.lang), (ENGLISH, OTHER, BOTH), seed=seed),
        contrast(known, lambda drop: group_of(drop.lang), ENGLISH, OTHER, seed=seed),
        contrast(shared, lambda drop: group_of(drop.lang), ENGLISH, OTHER, seed=seed),
        (Skipped("language not known", len(unknown), tuple(unknown[:5])),) if unknown else (),
    )


def group_of(lang: str) -> str | None:
    """English, other languages, or a pair of the two (`ara-eng`); None where the language is not known.

    >>> group_of("en-US"), group_of("pt-BR"), group_of("ara-eng"), group_of("mul")
    ('English', 'other languages', 'English and another', None)
    """
    if lang in _UNKNOWN:
        return None
    first, *more = re.split(r"[-_]", lang)
    # A region is written in capitals and a script with one: neither is a second language.
    langs = {first.lower(), *(part for part in more if part.islower() and len(part) < 4)}
    if langs <= _ENGLISH:
        return ENGLISH
    return BOTH if langs & _ENGLISH else OTHER


def _places(drops: Sequence[Drop]) -> set[str]:
    return {drop.place for drop in drops}
