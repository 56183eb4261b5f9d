"""The items on which annotators disagree most, pair by pair, with what each answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semblance.protocols import numbers
from semblance.protocols.hume.summary.record import PairRecord


@dataclass(frozen=True)
class DisputeRow:
    """An item: its texts, gold, every answer with who gave it, and how far apart they are in percent."""

    item: str
    texts: tuple[str, ...]
    gold: str
    answers: tuple[tuple[str, str], ...]
    apart: str
    exact: str


@dataclass(frozen=True)
class Disputes:
    """The items of one pair; `title` names it."""

    title: str
    lang: str
    is_marked: bool
    rows: tuple[DisputeRow, ...]


def disputes(pairs: Sequence[PairRecord]) -> tuple[Disputes, ...]:
    """The pairs that have such items. Reranking is answered by the places of documents (`is_marked`)."""
    return tuple(
        Disputes(
            pair.name, pair.lang, pair.family == "reranking",
            tuple(
                DisputeRow(
                    one.item, one.texts, one.gold, tuple(one.answers.items()), numbers.percent(one.apart),
                    f"{100 * one.apart:.6g}",
                )
                for one in pair.disputed
            ),
        )
        for pair in pairs
        if pair.disputed
    )  # fmt: skip
