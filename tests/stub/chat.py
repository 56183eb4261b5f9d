"""How the stub's chat models answer: a behaviour is a function from a `Turn` to a `Reply` or its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .vectors import tokens


@dataclass(frozen=True)
class Turn:
    """What a model is asked: its name, the messages (`role`, `content`), the whole request body."""

    model: str
    messages: Sequence[dict[str, str]]
    body: dict[str, Any]

    @property
    def last(self) -> str:
        """The last message."""
        return self.messages[-1]["content"]

    @property
    def input_tokens(self) -> int:
        """Of all messages, as the stub counts."""
        return sum(tokens(message["content"]) for message in self.messages)


@dataclass(frozen=True)
class Reply:
    """What it answers: text, thinking (in a field of its own), and why it stopped."""

    text: str
    thinking: str = ""
    finish: str = "stop"

    @property
    def output_tokens(self) -> int:
        """Of text and thinking, as the stub counts."""
        return tokens(self.text) + (tokens(self.thinking) if self.thinking else 0)


Behaviour = Callable[[Turn], Reply | str]


def echo(turn: Turn) -> str:
    """The last message again."""
    return turn.last


def scripted(*replies: Reply | str) -> Behaviour:
    """These replies, one after another, the last for ever."""
    left = list(replies)
    return lambda turn: left.pop(0) if len(left) > 1 else left[0]


def reply_of(behaviour: Behaviour, turn: Turn) -> Reply:
    """The behaviour's reply, a text made one."""
    said = behaviour(turn)
    return said if isinstance(said, Reply) else Reply(said)
