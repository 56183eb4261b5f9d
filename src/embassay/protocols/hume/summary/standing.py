"""People beside the models of a pair, from the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from embassay.protocols.hume.published.standing import Standing
from embassay.protocols.hume.published.study import Pair
from embassay.protocols.hume.summary.record import PairRecord, Summary


@dataclass(frozen=True)
class Beside:
    """A pair of the record and people among its models; `standing` is None where people or all models lack a score."""

    pair: PairRecord
    standing: Standing | None


def beside_models(summary: Summary) -> tuple[Beside, ...]:
    """Every pair, in the order of the record.

    The models are those that have a rank among the places of the record, which are also those that its wins are
    counted against; all of a pair where the record ranks none.
    """
    ranked = {one.system for one in summary.places if one.rank is not None and one.kind != "human"}
    return tuple(Beside(pair, _standing(pair, _scores(pair, ranked))) for pair in summary.pairs)


def _scores(pair: PairRecord, ranked: set[str]) -> dict[str, float]:
    every = {one.system: one.score.value for one in (*pair.models, *pair.llms) if one.system in ranked}
    if not ranked:
        every = {one.system: one.score.value for one in pair.models}
    return {system: value for system, value in every.items() if value is not None}


def _standing(pair: PairRecord, scores: Mapping[str, float]) -> Standing | None:
    human = pair.human.value
    if human is None or not scores:
        return None
    x, names = np.array(list(scores.values())), list(scores)
    return Standing(
        pair=Pair(pair.dataset, pair.lang, pair.family, pair.n, len(pair.annotators), pair.group),
        human=human, best=float(x.max()), best_model=names[int(x.argmax())], median=float(np.median(x)),
        mean=float(x.mean()), worst=float(x.min()), sd=float(x.std()), rank=1 + int((x > human).sum()), n_models=len(x),
    )  # fmt: skip
