"""One entry of a result: a task's scores in one language, every annotator's, and how well they agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from embassay.protocols.hume.folder.collected import annotation_of
from embassay.protocols.hume.folder.formats import AnnotationRow, Task
from embassay.protocols.hume.scoring.agreement import people_agreement
from embassay.protocols.hume.scoring.people import MAIN, score_people, who_counts
from embassay.protocols.hume.study import Answers, Family, Gold, answers_by_annotator
from embassay.protocols.mteb.scripts import with_script

Plain = dict[str, Any]
_MEASURES = {"mrr_at_10": "mrr@10", "ndcg_at_10": "ndcg@10"}
"""Measures that published results of people call by another name."""
_METRIC: Mapping[Family, str] = {
    "classification": "fleiss_kappa",
    "clustering": "mean_pairwise_ari",
    "reranking": "mean_spearman",
    "sts": "mean_pairwise_spearman",
}
_EXTRAS: Mapping[Family, Mapping[str, str]] = {
    "classification": {
        "cohen_kappa": "mean_pairwise_kappa", "percent_agreement": "mean_percentage_agreement", "alpha": "alpha",
    },
    "clustering": {"v_measure": "mean_pairwise_v_measure"},
    "reranking": {
        "kendall": "mean_kendall_tau", "cohen_kappa": "mean_binary_kappa", "spearman_sd": "spearman_std",
        "comparisons": "n_comparisons", "skipped": "n_skipped",
    },
    "sts": {
        "pearson": "mean_pairwise_pearson", "absolute_difference": "mean_absolute_difference", "alpha": "alpha",
    },
}  # fmt: skip
"""Our names of the others -> the published ones."""


def entry_of(task: Task, gold: Gold, rows: Sequence[AnnotationRow], subset: str) -> Plain | None:
    """The entry of a task, None where nobody answered it: all measures by the paper's rule, `scores_per_experiment` for
    each annotator in the order of their ids, and `agreement`, for one annotator without a value.

    Source: spec hume 4 ("result file shape"); the published files give the two lists only for a first language.
    """
    everybody = answers_by_annotator(task.spec, gold, map(annotation_of, rows))
    answers = who_counts(everybody)
    if not answers:
        return None
    people = score_people(task.spec, gold, answers)
    main = MAIN[task.family]
    return {
        **_named(people.scores("paper")),
        "main_score": people.score("paper"),
        "n_items": people.items,
        "scores_per_experiment": [
            {**_named(one.scores), "main_score": one.scores[main], "annotator": name}
            for name, one in people.annotators.items()
        ],
        "agreement": _agreement(task.family, answers),
        "simulated": any(row.kind == "simulated" for row in rows),
        "hf_subset": subset,
        "languages": [with_script(task.lang)],
    }


def seconds_of(rows: Sequence[AnnotationRow]) -> float | None:
    """How long people took altogether, None where nobody's time is known."""
    known = [row.seconds for row in rows if row.seconds is not None]
    return math.fsum(known) if known else None


def _named(scores: Mapping[str, float]) -> Plain:
    return {_MEASURES.get(name, name): value for name, value in scores.items()}


def _agreement(family: Family, answers: Answers) -> Plain:
    found = people_agreement(family, answers)
    extras = {name: _number(found.extras.get(ours)) for ours, name in _EXTRAS[family].items()}
    value = _number(found.value)
    return {
        "metric": _METRIC[family],
        "value": value,
        "interpretation": found.band,
        "n_annotators": found.annotators,
        "n_items": found.items,
        "total_annotations": found.annotations,
        # The published files of reranking have the value under this name only.
        **({"mean_spearman": value} if family == "reranking" else {}),
        **(extras if found.extras else {}),
        **({"reason": found.reason} if found.reason else {}),
    }


def _number(value: float | None) -> float | int | None:
    if value is None or math.isnan(value):
        return None
    return value
