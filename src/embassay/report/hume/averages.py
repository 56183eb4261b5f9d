"""Language models as annotators: their means by family beside those of people and of the best model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.hume.summary.record import PairRecord, Summary


@dataclass(frozen=True)
class Mean:
    """A mean over so many pairs, None over none; `of` names the system where it is not that of the row."""

    value: float | None
    pairs: int
    of: str = ""


@dataclass(frozen=True)
class AverageRow:
    """The means of one who answered, by family in the order of the table, then over all its pairs."""

    name: str
    kind: Literal["human", "llm", "best"]
    means: tuple[Mean, ...]
    failed: int = 0

    @property
    def overall(self) -> Mean:
        """Over all pairs, every pair once: not the mean of the families."""
        return self.means[-1]


@dataclass(frozen=True)
class Averages:
    """The rows: people first, the language models by their mean, the best model of each family last."""

    families: tuple[Family, ...]
    pairs: int
    rows: tuple[AverageRow, ...]

    @property
    def people(self) -> AverageRow:
        """The row of people."""
        return self.rows[0]

    @property
    def llms(self) -> tuple[AverageRow, ...]:
        """The rows of language models."""
        return tuple(row for row in self.rows if row.kind == "llm")


def averages(summary: Summary) -> Averages | None:
    """The means over the pairs that a language model answered; None where none did. Source: spec hume 8.1."""
    pairs = [one for one in summary.pairs if one.llms]
    if not pairs:
        return None
    families = tuple(family for family in FAMILIES if any(one.family == family for one in pairs))
    names = dict.fromkeys(one.system for pair in pairs for one in pair.llms)
    rows = [_row(name, "llm", pairs, families, _of(name), _failed(name, pairs)) for name in names]
    rows.sort(key=lambda row: -(row.overall.value or 0.0))
    people = _row("", "human", pairs, families, lambda pair: pair.human.value)
    return Averages(families, len(pairs), (people, *rows, *_best(pairs, families)))


def _row(
    name: str, kind: Literal["human", "llm"], pairs: Sequence[PairRecord], families: Sequence[Family],
    value: Callable[[PairRecord], float | None], failed: int = 0,
) -> AverageRow:  # fmt: skip
    means = [_mean([one for one in pairs if one.family == family], value) for family in families]
    return AverageRow(name, kind, (*means, _mean(pairs, value)), failed)


def _mean(pairs: Sequence[PairRecord], value: Callable[[PairRecord], float | None]) -> Mean:
    known = [found for one in pairs if (found := value(one)) is not None]
    return Mean(fmean(known) if known else None, len(known))


def _of(name: str) -> Callable[[PairRecord], float | None]:
    return lambda pair: next((one.score.value for one in pair.llms if one.system == name), None)


def _failed(name: str, pairs: Sequence[PairRecord]) -> int:
    return sum(one.failed for pair in pairs for one in pair.llms if one.system == name)


def _best(pairs: Sequence[PairRecord], families: Sequence[Family]) -> list[AverageRow]:
    """The model with the highest mean, in each family and over all: a model with a score on every pair of it."""
    groups = [*([one for one in pairs if one.family == family] for family in families), list(pairs)]
    found = [_leader(group) for group in groups]
    return [AverageRow("", "best", tuple(found))] if any(one.of for one in found) else []


def _leader(pairs: Sequence[PairRecord]) -> Mean:
    scores: dict[str, list[float]] = {}
    for pair in pairs:
        for one in pair.models:
            if one.score.value is not None:
                scores.setdefault(one.system, []).append(one.score.value)
    whole = {name: fmean(own) for name, own in scores.items() if len(own) == len(pairs)}
    if not whole:
        return Mean(None, 0)
    name = max(whole, key=lambda one: whole[one])
    return Mean(whole[name], len(pairs), name)
