"""A chat model that does HTEB's eight transformations by rule, told by the words of their instructions."""

from __future__ import annotations

import json
import re
from random import Random

from .chat import Behaviour, Reply, Turn
from .paraphrasing import reworded, share
from .wire import Problem

_TARGET = re.compile(r" to ([A-Z]\w+|the original language of the message)\.")
_BACK = ("English", "the original language of the message")


def transforming(failing: float = 0.0, copying: float = 0.0, empty: float = 0.0, *, fenced: bool = False) -> Behaviour:
    """Of so large shares of the texts the server refuses, the model gives them back as they are, or says `n/a`."""

    def behaviour(turn: Turn) -> Reply | str:
        text, told = turn.last, turn.messages[0]["content"]
        at = share(text)
        if at < failing:
            raise Problem(400, "this text cannot be processed")
        if at < failing + copying:
            said = text
        elif at < failing + copying + empty:
            said = "n/a"
        else:
            seed = turn.body.get("seed", turn.body.get("options", {}).get("seed"))
            said = _said(text, told, Random(f"{seed} {told} {text}"))
        wanted = turn.body.get("response_format") or turn.body.get("format")
        if not wanted:
            return said
        answer = json.dumps({"transformed_text": said}, ensure_ascii=False)
        return f"```json\n{answer}\n```" if fenced else answer

    return behaviour


def _said(text: str, told: str, random: Random) -> str:
    words = text.split()
    if "lengthen" in told:
        more = [random.choice(words) for _ in range(round(1.5 * len(words)) + 2)]
        return f"{reworded(text, random)} {' '.join(more)}"
    if "shorten" in told:
        return " ".join(words[: max(1, round(0.6 * len(words)))])
    if found := _TARGET.search(told):
        if found[1] in _BACK:
            return " ".join(word[:-2] for word in words)
        return " ".join(f"{word}{found[1][:2].lower()}" for word in words)
    return reworded(text, random)
