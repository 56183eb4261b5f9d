"""People beside the models on one pair, from the record: best, median and lowest model, and where people stand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from embassay.protocols.hume.summary.record import PairRecord, Summary, SystemScore


@dataclass(frozen=True)
class Standing:
    """A pair with the models that have a score on it, best first."""

    pair: PairRecord
    models: tuple[SystemScore, ...]

    @property
    def best(self) -> SystemScore | None:
        """The model with the highest score, the first of equals in the record."""
        return self.models[0] if self.models else None

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """What the models score, highest first."""
        return tuple(one.score.value for one in self.models if one.score.value is not None)

    @property
    def median(self) -> float | None:
        """The models' median."""
        return median(self.scores) if self.scores else None

    def gap(self, reference: str = "best") -> float | None:
        """People less the best or median model: above 0 people are better."""
        other = self.median if reference == "median" else next(iter(self.scores), None)
        human = self.pair.human.value
        return None if human is None or other is None else human - other

    @property
    def side(self) -> str:
        """Where the best model lies by the interval of people: `above`, `inside`, `below`, empty without one."""
        if self.best is None or self.best.outside is None:
            return ""
        gap = self.gap()
        return "inside" if not self.best.outside else "above" if gap is not None and gap < 0 else "below"


def standings(summary: Summary) -> tuple[Standing, ...]:
    """Every pair, in the order of the record, with the models that are ranked beside people: those that were scored on
    every pair, or all where none was."""
    ranked = {one.system for one in summary.places if one.rank is not None and one.kind != "human"}
    return tuple(_standing(pair, ranked) for pair in summary.pairs)


def _standing(pair: PairRecord, ranked: Collection[str]) -> Standing:
    known = [
        one for one in pair.models if one.score.value is not None and (not ranked or one.system in ranked)
    ]
    return Standing(pair, tuple(sorted(known, key=lambda one: -(one.score.value or 0.0))))


def system_names(summary: Summary) -> tuple[str, ...]:
    """Every model and language model of the record, each once."""
    return tuple(dict.fromkeys(one.system for pair in summary.pairs for one in (*pair.models, *pair.llms)))


def of_side(standings: Sequence[Standing], side: str) -> list[Standing]:
    """The pairs on which the best model lies there."""
    return [one for one in standings if one.side == side]
