"""What the report says of PTEB's seven tasks: names, units, what a score does not mean."""

from __future__ import annotations

import re
from dataclasses import replace

from embassay.protocols.numbers import POINTS
from embassay.report.record import Record
from embassay.report.tasks import Task

BOTH = " Both texts of a pair are paraphrased."

TASKS = (
    Task(
        "sts", "Semantic similarity (STS)", "STS", "spearman", "Spearman correlation with gold, × 100", "pairs",
        "follows gold similarity best",
        "Spearman correlation of cosine (or the metric’s similarity) and gold score." + BOTH,
        printed=POINTS,
    ),
    Task(
        "classification", "Classification", "Classification", "accuracy", "accuracy, × 100", "test texts",
        "classifies best",
        "Logistic regression on the vectors of all training texts; accuracy on the test texts. Systems without vectors "
        "vote among the nearest neighbours instead, and are ranked by themselves. Training and test texts are "
        "paraphrased.",
        printed=POINTS,
    ),
    Task(
        "clustering", "Clustering", "Clustering", "v_measure", "V-measure, × 100", "texts",
        "clusters best",
        "Mini-batch k-means with as many clusters as labels, V-measure, mean over sets. Systems without vectors "
        "cluster by complete linkage instead, and are ranked by themselves.",
        "V-measure is not corrected for chance: random clusters of small sets score above 0.",
        printed=POINTS,
    ),
    Task(
        "pair_classification", "Pair classification", "Pairs", "average_precision", "average precision, × 100", "pairs",
        "tells pairs apart best",
        "Average precision of the similarity of the pairs." + BOTH,
        printed=POINTS,
    ),
    Task(
        "reranking", "Reranking", "Reranking", "map", "mean average precision, × 100", "queries",
        "reranks best",
        "Mean average precision over queries, candidates ordered by similarity. Queries and candidates are "
        "paraphrased.",
        printed=POINTS,
    ),
    Task(
        "retrieval", "Retrieval", "Retrieval", "ndcg@10", "nDCG@10, × 100", "queries",
        "retrieves best",
        "nDCG@10 with linear gain, mean over judged queries. Queries alone are paraphrased; the corpus is as it was.",
        printed=POINTS,
    ),
    Task(
        "summarization", "Summarisation", "Summaries", "spearman", "Spearman correlation with relevance, × 100",
        "summaries",
        "follows the relevance of summaries best",
        "The score of a machine summary is its highest similarity to a human one of the same text; Spearman "
        "correlation with the human relevance rating. Human and machine summaries are paraphrased.",
        printed=POINTS,
    ),
)  # fmt: skip
BY_NAME = {task.name: task for task in TASKS}


def tasks_of(record: Record) -> tuple[Task, ...]:
    """The tasks; of a run on the texts as they are without what is paraphrased."""
    if record.kind != "original":
        return TASKS
    return tuple(replace(one, how=re.sub(r" [^.;]*\bparaphrased\b[^.]*\.", "", one.how)) for one in TASKS)
