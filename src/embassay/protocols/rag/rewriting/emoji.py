"""Signs of feeling, which say nothing of what is asked: emoji and emoticons."""

from __future__ import annotations

import re

# Characters that are shown as pictures by themselves, and any that is followed by the selector that makes it one.
_ALONE = (
    "\U0001f000-\U0001faff\u231a\u231b\u23e9-\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26aa\u26ab"
    "\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e"
    "\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55"
)
_PICTURE = (
    rf"(?:[{_ALONE}]|[\u00a9\u00ae\u203c-\u3299]\ufe0f)[\ufe0f\u200d\u20e3\U000e0020-\U000e007f\u2640\u2642]*"
)
_FACE = r"(?<![\w/])(?:[:;=]['’]?-?(?:[()\[\]|/\\*$3]|[DPpOoxXsS](?!\w))+|[xX]D+(?!\w)|<3+|\^_*\^|\(?¯\\_\(ツ\)_/¯\)?)"
_SIGNS = re.compile(rf"(?:{_PICTURE})+|{_FACE}")


_ENDING = re.compile(rf"(?<=[\w’')])(?:\s*(?:(?:{_PICTURE})+|{_FACE}))+\s+(?=[A-ZÀ-Þ])")


def without_emoji(text: str) -> str:
    """The text with a blank in place of emoji and emoticons.

    >>> without_emoji("Why? 😀 :-)").split()
    ['Why?']
    """
    return _SIGNS.sub(" ", text)


def with_stops(text: str) -> str:
    """The text with a full stop where emoji end a sentence: between a word and a capital.

    >>> with_stops("I am lost 😅 What is it")
    'I am lost. What is it'
    """
    return _ENDING.sub(". ", text)
