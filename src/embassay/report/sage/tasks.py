"""What the report says of the five SAGE tasks: names, units, what a score does not mean."""

from __future__ import annotations

from dataclasses import replace

from embassay.protocols.sage.edits import RETRIEVAL_EDITS
from embassay.report.record import Record
from embassay.report.tasks import Task

TASKS = (
    Task(
        "preference", "Human preference", "Preference", "human_preference", "agreement with people",
        "comparisons and ratings",
        "follows people best",
        "Comparisons: the more similar of two summaries is predicted to be the one people chose; "
        "accuracy, precision, recall and F1. Ratings: Pearson correlation of similarity and rating on "
        "each axis, as (r + 1) / 2. The score is the mean of the two halves, each the mean of its "
        "figures.",
        "0.5 is chance for accuracy and no correlation for ratings, not half of what is possible.",
        0.5, "chance",
    ),
    Task(
        "robustness", "Robustness", "Robustness", "robustness", "mean of three shares",
        "documents",
        "is the most robust",
        "Each document has three superficial edits (capitals, deleted letters, digits for letters), three"
        " edits that change its meaning (negation, shuffled sentences, shuffled words) and its summary. "
        "Three relations are checked per document, all strict: the summary is more similar than every "
        "meaning change, every superficial edit is more similar than the summary, and than every meaning "
        "change. The score is the mean of the three shares.",
        "It saturates at one third: a system that only puts noise above the summary scores 0.333.",
        1 / 3, "one of three",
    ),
    Task(
        "sensitivity", "Sensitivity", "Sensitivity", "sensitivity", "1 − mean error against the expectation",
        "documents",
        "is the most sensitive",
        "A needle text is inserted, or a span removed, at three sizes and three positions. Similarity is "
        "expected to be 1 / (1 + p) when a share p of the tokens is inserted or removed. The score is 1 −"
        " the mean distance from that, over insertion and removal.",
        "It is not 0 for an insensitive system: one that always answers 1 scores 0.683, and one that "
        "always answers two thirds scores 0.881.",
        None, "always 1", "constant",
    ),
    Task(
        "clustering", "Clustering", "Clustering", "v_measure", "V-measure",
        "texts",
        "clusters best",
        "Complete linkage on 1 − similarity, with as many clusters as there are labels; V-measure against"
        " the labels, mean over sets, then over datasets.",
        "Random clusters of small sets score above 0: V-measure is not corrected for chance.",
        None, "random", "random",
    ),
    Task(
        "retrieval", "Retrieval", "Retrieval", "retention", "share of nDCG@10 kept",
        "queries",
        "keeps most of its retrieval",
        "Each document has {copies}. The score is nDCG@10 in the corpus with all copies, which"
        " count as not relevant, as a share of nDCG@10 in the clean corpus. Beside it: the share kept "
        "when the corpus is replaced by one perturbed version, and the harmonic mean of these.",
        "It is a share of the system's own clean result: a poor retriever can keep all of little.",
        None, "random", "random",
    ),
)  # fmt: skip
_MANY = 4
"""Edits that are named one by one."""


def tasks_of(record: Record) -> tuple[Task, ...]:
    """The tasks in the words of a run: it may have searched some of the perturbed versions only."""
    said = copies(record)
    return tuple(replace(task, how=task.how.replace("{copies}", said)) for task in TASKS)


def copies(record: Record) -> str:
    """How many perturbed copies of every document the run has searched."""
    rows = (row.variant for row in record.rows.values() if row.task == "retrieval")
    found = dict.fromkeys(one.removeprefix("replaced:") for one in rows if one.startswith("replaced:"))
    every = len(RETRIEVAL_EDITS)
    if not found or len(found) == every:
        return f"{every} perturbed copies"
    named = f" ({', '.join(found)})" if len(found) <= _MANY else ""
    return f"{len(found)} of the paper's {every} perturbed copies{named}"


BY_NAME = {task.name: task for task in TASKS}
