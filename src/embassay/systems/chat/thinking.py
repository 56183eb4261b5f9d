"""Taking a model's thinking off its answer."""

from __future__ import annotations

import re

_OPEN = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSE_ONLY = re.compile(r"\A(?:(?!<think).)*?</think(?:ing)?>", re.IGNORECASE | re.DOTALL)


def without_thinking(text: str) -> str:
    """`text` without the thinking before the answer, stripped; "" where the thinking never ends.

    Blocks in tags at the beginning are taken off, and what comes before a closing tag that was never opened
    (some servers put the opening tag into the prompt). Tags within the answer are left alone.

    >>> without_thinking("<think>Two words?</think> A paraphrase.")
    'A paraphrase.'
    """
    while opened := _OPEN.match(text):
        closed = re.search(f"</{opened[1]}>", text, re.IGNORECASE)
        text = text[closed.end() :] if closed else ""
    return _CLOSE_ONLY.sub("", text, count=1).strip()
