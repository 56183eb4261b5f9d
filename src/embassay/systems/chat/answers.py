"""What a model's answer holds: its thinking and its fence taken off, the JSON in it found.

An answer may be of any length and shape, so every function here takes time in proportion to its length. An expression
like ```` ```\\s*(.*?)\\s*``` ```` does not: it tries every end of the first blanks with every end of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from itertools import islice

FENCE = "```"
THINKING_TAGS = ("think", "thinking", "thought", "reasoning")
_OPEN = re.compile(rf"\s*<({'|'.join(THINKING_TAGS)})>", re.IGNORECASE)
_CLOSE_ONLY = re.compile(r"\A(?:(?!<think).)*?</think(?:ing)?>", re.IGNORECASE | re.DOTALL)
_LANGUAGE = re.compile("[A-Za-z]*")
_DECODER = json.JSONDecoder()
_TRIED = 200
"""Brackets at which JSON may begin: each is read to where it breaks, and an answer of brackets has no end of them."""


class UnfitAnswerError(ValueError):
    """An answer that is not JSON, or not of the shape that was asked for; says what is wrong, for the model too."""


def strip_thinking(text: str) -> str:
    """`text` without the thinking before the answer, stripped; "" where the thinking never ends.

    Blocks in tags at the beginning are taken off, and what comes before a closing tag that was never opened
    (some servers put the opening tag into the prompt). Tags within the answer are left alone.

    >>> strip_thinking("<think>Two words?</think> A paraphrase.")
    'A paraphrase.'
    """
    at = 0
    while opened := _OPEN.match(text, at):
        closed = _closing_tag_pattern(opened[1].lower()).search(text, opened.end())
        at = closed.end() if closed else len(text)
    return _CLOSE_ONLY.sub("", text[at:], count=1).strip()


def strip_tagged_blocks(text: str, tags: Sequence[str] = THINKING_TAGS) -> str:
    """`text` without its blocks in these tags, wherever they stand; a tag that is never closed stays.

    >>> strip_tagged_blocks("<think>Hm.</THINK> A fox. <thought>")
    ' A fox. <thought>'
    """
    kept, at, unclosed = [], 0, set[str]()
    for opened in _opening_tag_pattern(tuple(tags)).finditer(text):
        tag = opened[1].lower()
        # An answer that opens a thousand blocks and closes none must not be read a thousand times.
        if opened.start() < at or tag in unclosed:
            continue
        closed = _closing_tag_pattern(tag).search(text, opened.end())
        if closed is None:
            unclosed.add(tag)
            continue
        kept.append(text[at : opened.start()])
        at = closed.end()
    return "".join([*kept, text[at:]])


@cache
def _opening_tag_pattern(tags: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"<({'|'.join(tags)})>", re.IGNORECASE)


@cache
def _closing_tag_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(f"</{tag}>", re.IGNORECASE)


def strip_code_fence(text: str) -> str:
    """The answer, stripped, without the code fence around the whole of it.

    >>> strip_code_fence(' ```json {"a": 1} ``` '), strip_code_fence("4 ```")
    ('{"a": 1}', '4 ```')
    """
    text = text.strip()
    if len(text) < 2 * len(FENCE) or not (text.startswith(FENCE) and text.endswith(FENCE)):
        return text
    return text[len(FENCE) : -len(FENCE)].removeprefix("json").strip()


def extract_first_code_fence(text: str) -> str | None:
    """What stands in the first code fence of an answer, without the name of its language; None without a whole one.

    >>> extract_first_code_fence("Here:\\n```json\\n{}\\n``` and no more.")
    '{}'
    """
    opened = text.find(FENCE)
    closed = text.find(FENCE, opened + len(FENCE)) if opened >= 0 else -1
    if closed < 0:
        return None
    inner = text[opened + len(FENCE) : closed]
    language = _LANGUAGE.match(inner)
    return inner[language.end() if language else 0 :].strip()


def extract_answer_json(text: str) -> str:
    """The JSON in an answer, as it stands there: a fence or words around it are left out. Unfit without any.

    >>> extract_answer_json('Here: ```json {"a": 1}``` as you asked')
    '{"a": 1}'
    """
    starts = (i for i, sign in enumerate(text) if sign in "{[")
    for start in islice(starts, _TRIED):
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        return text[start:end]
    raise UnfitAnswerError("it has no JSON, or incomplete JSON")
