"""The record of a study in the form that the paper's tables are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from embassay.protocols.hume.published.evaluations import Evaluation
from embassay.protocols.hume.published.llm_scores import LlmScores
from embassay.protocols.hume.published.matrix import HUMAN
from embassay.protocols.hume.published.study import Dataset, Model, Pair, Study
from embassay.protocols.hume.results.concluded import Contender, scored_pairs, whole
from embassay.protocols.hume.study import Family
from embassay.protocols.hume.summary.record import PairRecord

METRICS: Mapping[Family, tuple[str, ...]] = {
    "classification": ("accuracy", "macro F1", "weighted F1"),
    "clustering": ("V-measure", "ARI", "AMI"),
    "reranking": ("MAP", "MRR@10", "nDCG@10"),
    "sts": ("Spearman", "Pearson"),
}
"""What each family is measured by, the primary measure first."""


def as_study(pairs: Sequence[PairRecord], contenders: Sequence[Contender]) -> Study:
    """The pairs with a human score as a study, its models those systems that have a score on all of them; language
    models are none."""
    held = scored_pairs(pairs)
    by_dataset: dict[str, list[PairRecord]] = {}
    for one in held:
        by_dataset.setdefault(one.dataset, []).append(one)
    datasets = tuple(
        Dataset(name, name, own[0].family, METRICS[own[0].family], tuple(map(_pair, own)))
        for name, own in by_dataset.items()
    )
    models = tuple(
        Model(one.system, one.parameters_millions)
        for one in contenders
        if one.kind != "llm" and whole(pairs, one.system)
    )
    return Study(datasets, models, HUMAN, "", "this study")


def as_evaluations(pairs: Sequence[PairRecord]) -> tuple[Evaluation, ...]:
    """People and every system that has a score, pair by pair."""
    found = []
    for pair in scored_pairs(pairs):
        scores = {HUMAN: pair.human.value, **{one.system: one.score.value for one in pair.models}}
        found += [
            Evaluation(system, "", pair.dataset, pair.lang, pair.lang, value)
            for system, value in scores.items()
            if value is not None
        ]
    return tuple(found)


def as_llm_scores(pairs: Sequence[PairRecord], contenders: Sequence[Contender]) -> LlmScores | None:
    """Language models on the pairs that people and every one of them have a score on; None where there are none."""
    names = tuple(one.system for one in contenders if one.kind == "llm")
    held = [
        (pair, own)
        for pair in scored_pairs(pairs)
        if (own := {one.system: one.score.value for one in pair.llms})
        and all(own.get(name) is not None for name in names)
    ]
    if not names or not held:
        return None
    values = np.array([[own[name] for _, own in held] for name in names], dtype=np.float64)
    human = np.array([pair.human.value for pair, _ in held], dtype=np.float64)
    return LlmScores(tuple(_pair(pair) for pair, _ in held), names, values, human)


def _pair(one: PairRecord) -> Pair:
    return Pair(one.dataset, one.lang, one.family, one.n, len(one.annotators), one.group, one.flags)
