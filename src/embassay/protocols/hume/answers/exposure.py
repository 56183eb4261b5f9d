"""Who may have seen another's answers: annotators work alone (spec hume 3).

The pages show nobody another's answers, so there is one way left: one browser in which two links were opened, two
annotators', or an annotator's and the owner's. Each browser carries a random name in a cookie; the store keeps whose
answers it was shown, and for whom it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from embassay.protocols.hume.answers.database import Database, Transaction

_MOST_KNOWN = 50_000


@dataclass(frozen=True)
class Exposure:
    """`annotator` answered in a browser that was shown the answers of `others`."""

    annotator: str
    others: tuple[str, ...]


def in_words(exposures: Iterable[Exposure]) -> str:
    """What happened, in a sentence.

    >>> in_words([Exposure("ann", ("bob", "eve"))])
    'Answers were given in a browser that had shown those of others: ann (of bob, eve).'
    """
    who = ", ".join(f"{one.annotator} (of {', '.join(one.others)})" for one in exposures)
    return f"Answers were given in a browser that had shown those of others: {who}."


class Browsers:
    """What browsers were shown and wrote, in `database`. What is known already costs no transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: set[tuple[str, str, str]] = set()

    def shown(self, browser: str, annotators: Iterable[str]) -> None:
        """This browser got answers of these people."""
        self._note(browser, "shown", annotators)

    def wrote(self, browser: str, annotator: str) -> None:
        """This browser stored an answer of this annotator."""
        self._note(browser, "wrote", (annotator,))

    def writers(self, browser: str) -> tuple[str, ...]:
        """For whom this browser stored answers, by id."""
        rows = self._database.read(
            lambda do: do.all("SELECT annotator FROM browsers WHERE browser = ? AND wrote = 1", browser)
        )
        return tuple(sorted(name for (name,) in rows))

    def exposures(self) -> tuple[Exposure, ...]:
        """Everyone who answered where another's answers were shown, by id."""
        rows = self._database.read(
            lambda do: do.all(
                """SELECT own.annotator, other.annotator FROM browsers own JOIN browsers other
                ON own.browser = other.browser AND own.annotator <> other.annotator
                WHERE own.wrote = 1 AND other.shown = 1"""
            )
        )
        found: dict[str, set[str]] = {}
        for annotator, other in rows:
            found.setdefault(annotator, set()).add(other)
        return tuple(Exposure(name, tuple(sorted(found[name]))) for name in sorted(found))

    def _note(self, browser: str, what: str, annotators: Iterable[str]) -> None:
        new = [name for name in annotators if (browser, what, name) not in self._known]
        if not browser or not new:
            return
        self._database.write(lambda do: _noted(do, browser, what, new))
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known.update((browser, what, name) for name in new)


def _noted(do: Transaction, browser: str, what: str, annotators: Iterable[str]) -> None:
    column = {"shown": "shown", "wrote": "wrote"}[what]
    for annotator in annotators:
        do.run(
            "INSERT INTO browsers VALUES (?, ?, 0, 0) ON CONFLICT (browser, annotator) DO NOTHING",
            browser,
            annotator,
        )
        do.run(f"UPDATE browsers SET {column} = 1 WHERE browser = ? AND annotator = ?", browser, annotator)
