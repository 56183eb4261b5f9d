"""What a language model is told: the words that people read, and how to write an answer; versioned, with a hash.

The texts are files of the package (`prompt_texts/`), one for each way to answer. A task's title, question, guidelines,
and labels or scale go into them as annotators see them. Items come apart, between marked lines, and are never gold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Literal

from embassay.contracts import Message
from embassay.protocols.hume.folder.files import Scale, Task
from embassay.protocols.hume.llms.answers import Mode
from embassay.protocols.kernel.inputs import Prompt

VERSION = "1"
"""Of the texts and of how items are laid out; raised when a word of either changes."""

Kind = Literal["classification", "sts", "ranking", "binary"]
KINDS: tuple[Kind, ...] = ("classification", "sts", "ranking", "binary")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def kind_of(task: Task, mode: Mode) -> Kind:
    """How the answer to an item of the task is to look; KeyError for clustering, which is not asked."""
    kinds: Mapping[str, Kind] = {
        "classification": "classification",
        "sts": "sts",
        "reranking": "binary" if mode == "binary" else "ranking",
    }
    return kinds[task.family]


def prompt(task: Task, mode: Mode) -> Prompt:
    """The instructions for a task."""
    kind, scale = kind_of(task, mode), task.scale or Scale()
    told = Template(_frame(kind)).substitute(
        title=task.title, question=task.question, guidelines=task.guidelines.strip(), choices=_choices(task),
        low=f"{scale.low:g}", high=f"{scale.high:g}",
    )  # fmt: skip
    return Prompt(kind, VERSION, told)


def messages(task: Task, mode: Mode, payload: Mapping[str, Any]) -> list[Message]:
    """What is sent for one item: the instructions, and the item between marked lines."""
    return [Message("system", prompt(task, mode).text), Message("user", shown(task, payload))]


def shown(task: Task, payload: Mapping[str, Any]) -> str:
    """An item as the model sees it."""
    if task.family == "reranking":
        documents = payload["documents"]
        texts = [
            (f"document {at}", one["text"])
            for at, one in zip(letters(len(documents)), documents, strict=True)
        ]
        return _blocks([("query", payload["query"]), *texts])
    names = ("text1", "text2") if task.family == "sts" else ("text",)
    return _blocks([(name, payload[name]) for name in names])


def letters(n: int) -> list[str]:
    """A name for each of n documents: letters, and two of them from the 27th on.

    >>> letters(3), letters(28)[-2:]
    (['A', 'B', 'C'], ['AA', 'AB'])
    """
    return [_ALPHABET[i] if i < 26 else _ALPHABET[i // 26 - 1] + _ALPHABET[i % 26] for i in range(n)]


@cache
def _frame(kind: Kind) -> str:
    texts = files("embassay.protocols.hume.llms").joinpath("prompt_texts")
    return texts.joinpath(f"{kind}.txt").read_text("utf-8").strip()


def _choices(task: Task) -> str:
    """The labels with what they mean, or the levels of the scale: a line each."""
    if task.family == "classification":
        named = [(one.name, one.description) for one in task.labels]
    elif task.family == "sts":
        scale = task.scale or Scale()
        ends = (f"{scale.low:g}", f"{scale.high:g}")
        named = sorted(scale.anchors.items(), key=lambda one: float(one[0])) or [(end, "") for end in ends]
    else:
        named = []
    return "\n".join(f"- {name}: {meaning}" if meaning else f"- {name}" for name, meaning in named)


def _blocks(parts: Sequence[tuple[str, str]]) -> str:
    """Every part between two lines with eight digits that no text can hold on purpose, since they follow from all of
    them: a text cannot pretend to end and speak on in our name. Equal items have equal marks, so that equal questions
    are paid once."""
    joined = "\x1f".join(text for _, text in parts).encode("utf-8", "surrogatepass")
    mark = hashlib.blake2b(joined, digest_size=4).hexdigest()
    return "\n\n".join(f"[{name} {mark}]\n{text}\n[end of {name} {mark}]" for name, text in parts)
