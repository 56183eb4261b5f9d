"""A dataset paraphrased: which of its texts have a usable wording, and whether enough of them do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

from embassay.protocols.kernel.estimates import MOST_LOST
from embassay.protocols.pteb.paraphrasing.records import Paraphrase
from embassay.protocols.pteb.slices import language_at
from embassay.protocols.tasks import Reworded, Task

Known = Mapping[tuple[str, str, str], Paraphrase]
"""(language, text, place) -> what came of it; the place is empty where equal texts share a wording."""


SMALL, ALLOWANCE = 100, 3
"""Of fewer texts than this, so many may lack a wording: one text in twelve is 8%, and says nothing of the rest."""


@dataclass(frozen=True)
class Worded:
    """A dataset reworded, or the `reason` why it can have no score; how many texts came to what; a `warning` where more
    of them have no wording than usually may."""

    reworded: Reworded
    reason: str = ""
    warning: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


def as_it_is(what: Task, data: Any, *, tidy: bool = False) -> Worded:
    """The data in its own words; `tidy` takes blanks out before closing punctuation [A19]."""
    n = what.size(data)
    return Worded(Reworded(data, _tidied(what, data) if tidy else data, n, n))


def in_other_words(  # noqa: PLR0913
    what: Task,
    data: Any,
    lang: str,
    known: Known,
    *,
    tidy: bool = False,
    keep_failed: bool = False,
    exclude_copied: bool = False,
    unworded: tuple[str, ...] = (),
    most_lost: float = MOST_LOST,
) -> Worded:
    """The data, of language `lang`, with every text in its known wording, and the same items as they were.

    A text without a usable wording takes its item out of both sides, or stands for itself with `keep_failed`; a copy
    is a wording, unless `exclude_copied`. Over the share `most_lost` of the distinct texts without a wording there is
    no score (design.md, failed items), but of fewer than 100 texts three, or half of them, are let pass with a warning;
    copies left out on request do not count there. `tidy` is done to both sides. Texts at places that begin with one of
    `unworded` keep their own words.
    """

    def found(place: str, text: str) -> Paraphrase:
        own = language_at(place, lang)
        return (
            known.get((own, text, f"{what.name}:{place}"))
            or known.get((own, text, ""))
            or _missing(text, own)
        )

    def wording(place: str, text: str) -> str | None:
        if place.startswith(unworded):
            return text
        one = found(place, text)
        if not one.usable:
            return text if keep_failed else None
        return None if exclude_copied and one.outcome == "copied" else one.wording

    worded = (at for at in what.texts(data) if not at[0].startswith(unworded))
    asked = {(one.lang, one.text, one.place): one for one in starmap(found, worded)}
    failed = [one for one in asked.values() if not one.usable]
    reworded = what.reword(data, wording)
    if tidy:
        sides = _tidied(what, reworded.original), _tidied(what, reworded.paraphrased)
        reworded = replace(reworded, original=sides[0], paraphrased=sides[1])
    counts = {"texts_asked": len(asked), "texts_not_worded": len(failed)}
    reason, warning = ("", "") if keep_failed else _too_many(failed, len(asked), most_lost)
    return Worded(reworded, reason, warning, counts)


def _tidied(what: Task, data: Any) -> Any:
    return what.reword(data, lambda _, text: tidied(text)).paraphrased


def _missing(text: str, lang: str) -> Paraphrase:
    return Paraphrase(text, lang, "", "", "missing", "the set does not have it", attempts=0)


def _too_many(failed: list[Paraphrase], asked: int, most: float) -> tuple[str, str]:
    """Why there is no score, or a warning that more than `most` were let pass; empty where few enough failed."""
    if len(failed) <= most * asked:
        return "", ""
    kinds = Counter(one.outcome for one in failed)
    told = ", ".join(f"{count} {name}" for name, count in kinds.most_common())
    share = len(failed) / asked
    happened = f"{len(failed)} of {asked} texts ({share:.1%}) have no usable paraphrase: {told}"
    if asked < SMALL and len(failed) <= min(ALLOWANCE, asked / 2):
        return "", f"{happened} (over {most:.0%}, let pass because the texts are few)"
    return f"{happened} (over {most:.0%}, so no score)", ""


_BEFORE_CLOSING = re.compile(r"\s+([.,;:!?%)\]}»”’])")
_AFTER_OPENING = re.compile(r"([(\[{«“‘])\s+")


def tidied(text: str) -> str:
    """`text` without blanks before closing and after opening punctuation; runs of blanks become one.

    >>> tidied("A man ( old ) ,  and a dog .")
    'A man (old), and a dog.'
    """
    return " ".join(_AFTER_OPENING.sub(r"\1", _BEFORE_CLOSING.sub(r"\1", text)).split())
