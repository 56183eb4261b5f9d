"""The scores of people and models over the pairs of a study."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.protocols.hume.published.evaluations import Evaluation, of_human
from embassay.protocols.hume.published.study import Pair, Study, paper_study

HUMAN = "Human"


@dataclass(frozen=True)
class Matrix:
    """`values` (models, pairs) and `human` (pairs,), fractions. Models go by short names; people are none of them."""

    pairs: tuple[Pair, ...]
    models: tuple[str, ...]
    values: NDArray[np.float64]
    human: NDArray[np.float64]

    def where(self, wanted: Callable[[Pair], bool]) -> NDArray[np.int64]:
        """The positions of the pairs that are wanted."""
        return np.array([i for i, pair in enumerate(self.pairs) if wanted(pair)], dtype=np.int64)

    def means(self, wanted: Callable[[Pair], bool] = lambda _: True) -> dict[str, float]:
        """The unweighted mean over the wanted pairs of every model, and of Human last; NaN over none."""
        at = self.where(wanted)
        if not len(at):
            return dict.fromkeys((*self.models, HUMAN), math.nan)
        every = np.vstack([self.values, self.human])[:, at].mean(axis=1)
        return dict(zip((*self.models, HUMAN), every.tolist(), strict=True))


def score_matrix(evaluations: Iterable[Evaluation], study: Study | None = None) -> Matrix:
    """The main scores of the study's models and people over its pairs; other systems and subsets are left out.

    DataError where a model of the study, or the people in the paper's revision, lack a pair or have it twice: a mean
    over fewer pairs would not compare. Source: spec hume 5 and 13.
    """
    study, every = study or paper_study(), list(evaluations)
    groups = {model.short: [one for one in every if one.system == model.name] for model in study.models}
    groups[HUMAN] = of_human(every, study)
    rows = {name: _row(name, own, study.pairs) for name, own in groups.items()}
    human = rows.pop(HUMAN)
    values = np.array(list(rows.values())).reshape(len(rows), len(study.pairs))
    return Matrix(study.pairs, tuple(rows), values, np.array(human))


def others(evaluations: Iterable[Evaluation], study: Study | None = None) -> list[str]:
    """The systems that are not of the study, which never take part in best, median, mean or rank; sorted."""
    study = study or paper_study()
    known = {study.human, *(model.name for model in study.models)}
    return sorted({one.system for one in evaluations} - known)


def by_pair(evaluations: Iterable[Evaluation]) -> Mapping[tuple[str, str], Evaluation]:
    """Evaluations of one system by dataset and language. DataError where two are of the same pair."""
    found: dict[tuple[str, str], Evaluation] = {}
    for one in evaluations:
        earlier = found.setdefault((one.dataset, one.lang), one)
        if earlier is not one:
            raise DataError(
                f"{one.system} has two results for {one.dataset} ({one.lang})",
                found=f"revisions {earlier.revision} and {one.revision}",
                mend="Keep the results of one revision.",
            )
    return found


def _row(name: str, own: Sequence[Evaluation], pairs: Sequence[Pair]) -> list[float]:
    found = {key: one.main_score for key, one in by_pair(own).items()}
    missing = [pair.name for pair in pairs if math.isnan(found.get((pair.dataset, pair.lang), math.nan))]
    if missing:
        raise DataError(
            f"{name} has no score for {len(missing)} of {len(pairs)} pairs, the first {missing[0]}",
            mend="Give results that hold every pair of the study.",
        )
    return [found[pair.dataset, pair.lang] for pair in pairs]
