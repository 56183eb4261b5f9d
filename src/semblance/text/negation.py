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

_IRREGULAR = {"cannot": "can", "can't": "can", "ca n't": "can", "won't": "will", "wo n't": "will"}


def rules() -> dict[str, str]:
    """The table in lower case, as shown in the documentation: what is found, and what takes its place.

    >>> rules()["is"], rules()["isn't"], rules()["can"], rules()["won't"]
    ('is not', 'is', 'cannot', 'will')
    """
    table = {"can": "cannot", "can not": "can", **_IRREGULAR}
    for verb in AUXILIARIES:
        table[verb] = f"{verb} not"
        table[f"{verb} not"] = verb
        if verb != "will":
            table[f"{verb}n't"] = table[f"{verb} n't"] = verb
    return table


def _spellings(words: tuple[str, ...]) -> str:
    """An alternation of the words in lower case, with a capital and in capitals, longest first."""
    spelled = {form for word in words for form in (word, word.capitalize(), word.upper())}
    return "|".join(sorted(spelled, key=lambda form: (-len(form), form)))


_NOT = _spellings(("not",))
_NT = r"\s?[nN]['’][tT]"
# Longest first: the irregular ones before `can` and `will`, a negated verb before the verb alone.
_PATTERN = re.compile(
    rf"\b(?:({_spellings(('ca', 'wo'))}){_NT}|({_spellings(('can',))})(?:{_NOT})"
    rf"|({_spellings((*AUXILIARIES, 'can'))})(\s+(?:{_NOT})|{_NT})?)\b"
)
_AFFIRMATIVE = {"ca": "can", "wo": "will"}


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
    irregular, can, verb, negation = match.groups()
    if irregular:
        affirmative = _AFFIRMATIVE[irregular.lower()]
        return affirmative.upper() if irregular.isupper() else irregular[0] + affirmative[1:]
    if can or negation:
        return str(can or verb)
    return verb + ("" if verb.lower() == "can" else " ") + ("NOT" if verb.isupper() else "not")
