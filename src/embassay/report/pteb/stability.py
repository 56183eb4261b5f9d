"""Does the ranking hold: from original texts to paraphrases, and from run to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.protocols import numbers
from embassay.report.board import Board, Row
from embassay.report.matrix import STEPS
from embassay.report.record import APART, OVERALL, Record


@dataclass(frozen=True)
class Held:
    """A system: its place before and after, the places between which 95% of the resamples lie, and how often it
    stands above each other system."""

    row: Row
    before: int
    after: int
    range: str
    beats: tuple[tuple[str, int, float | None], ...]
    """Text, step of the heat and exact share, one per system of the scope."""


@dataclass(frozen=True)
class Stability:
    """One scope."""

    title: str
    id: str
    said: str
    rows: tuple[Held, ...]


def stabilities(record: Record, board: Board) -> tuple[Stability, ...]:
    """The table of the leading scope and, beside it, of the systems that are ranked by themselves."""
    scopes: Mapping[str, Any] = record.compared.get("rank_stability", {})
    titles = {OVERALL: "All tasks"} | {task.name: task.title for task in board.tasks}
    titles |= {name + APART: f"{title}, classical metrics" for name, title in titles.items()}
    return tuple(
        _stability(board, titles.get(name, name), name, scopes[name])
        for name in (board.lead, board.lead + APART)
        if name in scopes and not scopes[name].get("reason")
    )


def orders(record: Record, board: Board) -> tuple[tuple[str, str], ...]:
    """What is said of the order on every other scope, with its title."""
    scopes: Mapping[str, Any] = record.compared.get("rank_stability", {})
    titles = {task.name: task.title for task in board.tasks if task.name != board.lead}
    found = ((title, _said(scopes.get(name, {}))) for name, title in titles.items())
    return tuple((title, said) for title, said in found if said)


def _stability(board: Board, title: str, name: str, plain: Mapping[str, Any]) -> Stability:
    systems: Sequence[str] = plain["systems"]
    ranges = zip(plain["rank_low"], plain["rank_high"], strict=True) if plain["rank_low"] else None
    words = [numbers.rank(low, high) for low, high in ranges] if ranges else ["no interval"] * len(systems)
    beats = plain["beats"] or [()] * len(systems)
    rows = (
        Held(
            board.row(system), plain["original_rank"][i], plain["rank"][i], words[i],
            tuple(_share(value) for value in beats[i]),
        )
        for i, system in enumerate(systems)
    )  # fmt: skip
    return Stability(title, f"stability-{name.replace(':', '-')}", _said(plain), tuple(rows))


def _share(value: float | None) -> tuple[str, int, float | None]:
    if value is None:
        return numbers.NONE, 0, None
    return numbers.percent(value), min(STEPS, 1 + int(value * STEPS)), value


def _said(plain: Mapping[str, Any]) -> str:
    """Kendall's tau-b in words, as far as it is defined."""
    parts = []
    if plain.get("tau_original") is not None:
        low, high = plain.get("tau_low"), plain.get("tau_high")
        ends = "" if low is None or high is None else f" (95% interval {numbers.interval(low, high, 2)})"
        parts.append(f"original and paraphrased scores {numbers.score(plain['tau_original'], 2)}{ends}")
    for key, between in (("tau_runs", "two runs"), ("tau_sources", "two sources")):
        if plain.get(key) is not None:
            least = numbers.score(plain[f"{key}_min"], 2)
            parts.append(f"{between} {numbers.score(plain[key], 2)} on average, {least} at least")
    return f"Kendall’s τ-b between {'; '.join(parts)}." if parts else ""
