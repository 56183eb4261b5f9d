"""Blanks around punctuation: tokenised benchmark texts have them, paraphrases have not [A19]."""

from __future__ import annotations

import re

_BEFORE_CLOSING = re.compile(r"\s+([.,;:!?%)\]}»”’])")
_AFTER_OPENING = re.compile(r"([(\[{«“‘])\s+")


def tidied(text: str) -> str:
    """`text` without blanks before closing and after opening punctuation; runs of blanks become one.

    >>> tidied("A man ( old ) ,  and a dog .")
    'A man (old), and a dog.'
    """
    return " ".join(_AFTER_OPENING.sub(r"\1", _BEFORE_CLOSING.sub(r"\1", text)).split())
