"""What was drawn for a task, before it has ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from embassay.protocols.hume.folder.formats import Defect, Practice
from embassay.protocols.hume.sampling.repeats import plain


@dataclass(frozen=True)
class Chosen:
    """An item: what is shown, what is right, and where it comes from."""

    payload: Mapping[str, Any]
    gold: Any
    source_id: str
    documents: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()

    @property
    def text(self) -> str:
        """What is looked for in training data: the text, the pair in either order, or the query."""
        if "text1" in self.payload:
            return pair_text(self.payload["text1"], self.payload["text2"])
        return str(self.payload.get("text") or self.payload["query"])

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is shown."""
        documents = tuple(one["text"] for one in self.payload.get("documents", ()))
        alone = tuple(self.payload[key] for key in ("text", "text1", "text2", "query") if key in self.payload)
        return alone + documents


@dataclass(frozen=True)
class Drawn:
    """The items of a task with practice, all labels there are, and what is to be said of the draw.

    `about_gold` are notes for the owner alone: the study does not keep them, since they would tell annotators how many
    groups or relevant documents to look for. `trained` are the texts that models may train on, as `Chosen.text` has
    them.
    """

    items: tuple[Chosen, ...]
    practice: tuple[Practice, ...] = ()
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    about_gold: tuple[str, ...] = ()
    trained: tuple[str, ...] = ()


def pair_text(one: str, other: str) -> str:
    """Two texts as one, the same in either order.

    >>> pair_text("b", "a")
    'a\\nb'
    """
    return "\n".join(sorted((one, other), key=plain))


def counted(number: int, what: str, then: str) -> tuple[str, ...]:
    """A note on so many things, none for none.

    >>> counted(1, "text", "left out"), counted(0, "text", "left out")
    (('1 text left out',), ())
    """
    plural = {"query": "queries"}.get(what, f"{what}s")
    return (f"{number} {what if number == 1 else plural} {then}",) if number else ()
