"""What is asked of a paraphraser and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Outcome = Literal[
    "ok", "copied", "empty", "too long", "wrong language", "thinking", "refused", "failed", "missing"
]
"""`ok` and `copied` (equal to the text) are usable. `refused` by the model or its server, `failed` for a call without
an answer, `missing` from a stored or recorded set; the others are answers that the gate rejected every time."""

USABLE: frozenset[Outcome] = frozenset({"ok", "copied"})


@dataclass(frozen=True)
class Asked:
    """A text to be put in other words. `lang` is its language (`und`: not known). `place` is empty where equal texts
    share their wording; else it tells occurrences of one text apart."""

    text: str
    lang: str
    place: str = ""


@dataclass(frozen=True)
class Paraphrase:
    """What came of one text in one run. `wording` is empty unless the outcome is usable.

    `attempts` counts the answers that were drawn, the last with `seed`; `seconds` is how long the server took for the
    answers together, as first measured (0 where nothing was asked).
    """

    text: str
    lang: str
    place: str
    wording: str
    outcome: Outcome
    reason: str = ""
    attempts: int = 1
    seed: int = 0
    seconds: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether `wording` may stand for the text."""
        return self.outcome in USABLE


class Paraphraser(Protocol):
    """Puts texts in other words: a language model, or a set written beforehand."""

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files: `openai:gpt-5-mini`, `recorded`, `stored:FOLDER`."""
        ...

    @property
    def identity(self) -> str:
        """Everything its wordings depend on: model, prompt, sampling, or the digest of the set."""
        ...

    @property
    def remote(self) -> bool:
        """Whether it asks a server that may want money."""
        ...

    def seeds(self, runs: int, first: int) -> tuple[int, ...]:
        """The seeds of `runs` runs: first, first + 1 ... for one that draws. UsageError when a set has fewer."""
        ...

    def write(
        self, asked: Sequence[Asked], *, seed: int, run: int, hear: Callable[[int], None] = lambda _: None
    ) -> Iterator[tuple[int, Paraphrase]]:
        """One run, number `run` from 0: each text by its position, as soon as it is there, in any order; every
        position once. `hear` gets the number of texts that are done, now and then. What cannot be worded comes as a
        Paraphrase with its outcome; ModelError for a model that cannot be had, BudgetExceeded when the money ends,
        both after what was in flight has been yielded (and kept in the answer cache)."""
        ...
