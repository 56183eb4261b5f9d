"""A chat model that really puts texts in other words, by rule: other words for common ones, and parts moved."""

from __future__ import annotations

import hashlib
import re
from random import Random

from .chat import Behaviour, Reply, Turn
from .wire import Problem

_OTHERS = {
    "man": ["fellow", "guy"], "woman": ["lady"], "child": ["kid"], "boy": ["lad"], "girl": ["young lady"],
    "people": ["persons", "folks"], "dog": ["hound"], "cat": ["feline"], "big": ["large"], "small": ["little"],
    "playing": ["performing on"], "riding": ["travelling on"], "running": ["racing"], "walking": ["strolling"],
    "eating": ["consuming"], "says": ["states", "declares"], "said": ["stated", "declared"], "is": ["happens to be"],
    "kill": ["slay"], "killed": ["slain"], "dead": ["deceased"], "two": ["a pair of"], "three": ["a trio of"],
    "new": ["recent"], "old": ["aged"], "group": ["bunch"], "house": ["home"], "car": ["automobile"],
    "money": ["funds"], "card": ["bank card"], "how": ["in what way"], "why": ["for what reason"],
    "want": ["would like"], "need": ["require"], "get": ["obtain"], "buy": ["purchase"], "help": ["assist"],
    "and": ["as well as"], "but": ["yet"], "because": ["since"], "in": ["inside"], "on": ["upon"],
    "report": ["account"], "police": ["officers"], "president": ["head of state"], "percent": ["per cent"],
    "study": ["investigation"], "show": ["demonstrate"], "shows": ["demonstrates"], "use": ["employ"],
    "used": ["employed"], "make": ["produce"], "made": ["produced"], "about": ["concerning"], "many": ["numerous"],
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z]+")


def reworded(text: str, random: Random) -> str:
    """`text` in other words: the same for the same state of `random`, and not the text itself where it has two words
    or more."""
    changed = _WORD.sub(lambda found: _other(found[0], random), text)
    parts = re.split(r"(?<=[,;]) ", changed)
    if len(parts) > 1 and random.random() < 0.5:
        parts = [*parts[1:], parts[0]]
    words = " ".join(parts).split()
    if len(words) > 3 and random.random() < 0.5:
        turn = random.randrange(1, len(words))
        words = [*words[turn:], *words[:turn]]
    result = " ".join(words)
    return result if result != text.strip() else " ".join(reversed(words))


def paraphrasing(failing: float = 0.0, copying: float = 0.0, long: float = 0.0) -> Behaviour:
    """A model that rewords the last message, another way for another seed or prompt; of so large shares of the texts it
    never does: the server refuses them, they come back as they are, or ten times."""

    def behaviour(turn: Turn) -> Reply | str:
        text = turn.last
        at = share(text)
        if at < failing:
            raise Problem(400, "this text cannot be processed")
        if at < failing + copying:
            return text
        if at < failing + copying + long:
            return " ".join([text] * 10)
        seed = turn.body.get("seed", turn.body.get("options", {}).get("seed"))
        # Another prompt is another way to say it.
        told = turn.messages[0]["content"] if len(turn.messages) > 1 else ""
        return reworded(text, Random(f"{seed} {told} {text}"))

    return behaviour


def share(text: str) -> float:
    """A number in [0, 1) that belongs to the text, evenly spread over texts."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64


def _other(word: str, random: Random) -> str:
    others = _OTHERS.get(word.lower())
    if others is None or random.random() < 0.3:
        return word
    other = random.choice(others)
    return other.capitalize() if word[0].isupper() else other
