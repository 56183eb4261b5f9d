"""Negation by rule: affirmative auxiliaries become negative and negative ones affirmative, in one pass.

The paper names only is/is not and can/cannot; the list is ours and has a version [A12].
"""

from __future__ import annotations

import re

RULES_VERSION = 1

AUXILIARIES = (
    "is", "are", "was", "were", "has", "have", "had", "does", "do", "did",
    "will", "would", "should", "could", "must", "may", "might",
)  # fmt: skip
"""Each takes ` not` and loses ` not`, `n't` and ` n't`; `can` has rules of its own."""


def rules() -> dict[str, str]:
    """The table in lower case, as shown in the documentation: what is found, and what takes its place.

    >>> rules()["is"], rules()["isn't"], rules()["can"], rules()["won't"]
    ('is not', 'is', 'cannot', 'will')
    """
    table = {"can": "cannot", "cannot": "can", "can not": "can", "can't": "can"}
    for verb in AUXILIARIES:
        contraction = "won't" if verb == "will" else f"{verb}n't"
        table |= {verb: f"{verb} not", f"{verb} not": verb, contraction: verb}
    return table


_AFFIRMATIVE = {"ca": "can", "wo": "will"}  # what n't leaves of can't and won't
_NT = r"\s?[nN]['’][tT]"


def _spellings(word: str) -> tuple[str, ...]:
    """In lower case, with an initial capital, in capitals."""
    return word, word.capitalize(), word.upper()


def _stems() -> str:
    """Every stem in every spelling as one alternation, longest first.

    Grouped by the first letter, and with the word boundary in front checked behind the stem, so that the
    search can skip to the next possible first letter.
    """
    stems = sorted((*AUXILIARIES, "can"), key=len, reverse=True)
    groups: dict[str, list[str]] = {}
    for stem in (*_AFFIRMATIVE, *stems):
        only_before = rf"(?={_NT}\b)" if stem in _AFFIRMATIVE else ""
        for form in _spellings(stem):
            boundary = rf"(?<!\w{'.' * len(form)})"
            groups.setdefault(form[0], []).append(form[1:] + only_before + boundary)
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())


_NOT = "(?:" + "|".join(_spellings("not")) + ")"
_PATTERN = re.compile(rf"({_stems()})(\s+{_NOT}|{_NT}|(?<=[cC][aA][nN]){_NOT})?\b")


def negate(text: str) -> str:
    """`text` with every auxiliary of the table negated, every negated one affirmed.

    One alternation, longest first, at word boundaries, in one pass, so that no rule undoes another. Found in
    lower case, with an initial capital and in capitals; the replacement is written the same way. Both
    apostrophes count, and so does the space that tokenised corpora put before `n't`.

    >>> negate("It is cold. Can't you see? They did not.")
    'It is not cold. Can you see? They did.'
    """
    return _PATTERN.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    stem, negation = match.groups()
    lower = stem.lower()
    if not negation:
        return stem + ("" if lower == "can" else " ") + ("NOT" if stem.isupper() else "not")
    if lower not in _AFFIRMATIVE:
        return str(stem)
    affirmative = _AFFIRMATIVE[lower]
    return affirmative.upper() if stem.isupper() else stem[0] + affirmative[1:]
