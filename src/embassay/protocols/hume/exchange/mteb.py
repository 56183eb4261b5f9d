"""People's scores on a study as results of MTEB: folders `baseline__Human/REVISION/Task.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.folder.collection import annotation_of
from embassay.protocols.hume.folder.files import AnnotationRow, StudyFolder, Task
from embassay.protocols.hume.results.summary import named
from embassay.protocols.hume.scoring.people import MAIN, people_agreement, score_people, who_counts
from embassay.protocols.hume.study import Answers, Family, Gold, answers_by_annotator
from embassay.protocols.mteb.document import json_text
from embassay.protocols.mteb.repository import META, model_meta, place_of
from embassay.protocols.mteb.rows import with_script
from embassay.runs.folder import slug, write_atomic

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


MODEL = "baseline/Human"


def write_mteb(
    folder: StudyFolder, tasks: Sequence[Task], rows: Sequence[AnnotationRow], out: Path, revision: str = "1"
) -> list[Path]:
    """Write `baseline__Human/REVISION/Task.json` of every dataset that somebody annotated, and `model_meta.json`, below
    `out`; return the files. Raises UsageError for a revision that is no plain name."""
    if slug(revision) != revision or not revision:
        raise UsageError(f"The revision is {revision!r}.", mend="Use letters, digits, dots, dashes.")
    place = out / place_of(MODEL, revision)
    files: dict[Path, Plain] = {}
    for dataset, own in _by_dataset(folder, tasks).items():
        if (result := _result(folder, dataset, own, rows)) is not None:
            files[place / f"{slug(dataset)}.json"] = result
    files[place / META] = model_meta(MODEL, revision, [with_script(task.lang) for task in tasks])
    for path, document in files.items():
        write_atomic(path, json_text(document, indent=2) + "\n")
    return list(files)


def _by_dataset(folder: StudyFolder, tasks: Sequence[Task]) -> Mapping[str, list[Task]]:
    names = named(folder.study.tasks)
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(names[task.name].dataset, []).append(task)
    return found


def _result(
    folder: StudyFolder, dataset: str, tasks: Sequence[Task], rows: Sequence[AnnotationRow]
) -> Plain | None:
    every = {task.name: {item.id for item in folder.items_of(task.name)} for task in tasks}
    own = {name: [row for row in rows if row.item_id in items] for name, items in every.items()}
    entries = [
        entry_of(task, folder.gold(task.name), own[task.name], "default" if len(tasks) == 1 else task.lang)
        for task in tasks
    ]
    found = [entry for entry in entries if entry is not None]
    if not found:
        return None
    return {
        "dataset_revision": folder.study.content,
        "task_name": dataset,
        "mteb_version": None,
        "scores": {"test": found},
        "evaluation_time": seconds_of([row for rows_of in own.values() for row in rows_of]),
        "kg_co2_emissions": None,
    }
