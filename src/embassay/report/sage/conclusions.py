"""SAGE in words: its five tasks, how often noise stays above changed meaning, and who leads which task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from embassay.document.blocks import Part, Sentence, Verdict, listed, plain
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.sage.tasks import RETRIEVAL_EDITS
from embassay.records import Result
from embassay.report.board import Board, Task, item_count, name
from embassay.report.record import Record

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


RELATION = "superficial_over_semantic"
MOST_NAMES = 3


def sage_verdict(record: Record, board: Board) -> Verdict:
    """The verdict of the SAGE page."""
    lede = [*_shares(record, board), *_places(record, board)]
    if not lede:
        return Verdict(("SAGE: no ranked system has finished a task",), ())
    return Verdict(_heading(record, board), tuple(lede))


def relation_rows(record: Record, board: Board) -> list[Result]:
    """How often noise stays above changed meaning: a row per ranked system and dataset with a value."""
    found = (
        record.find("robustness", row.system.name, "share", dataset=dataset, variant=RELATION)
        for row in (*board.ranked, *board.unranked)
        for dataset in record.datasets("robustness")
    )
    return [row for row in found if row is not None and row.value is not None]


def _heading(record: Record, board: Board) -> Sentence:
    rows = relation_rows(record, board)
    if rows:
        half = [row for row in rows if (row.value or 0) > 0.5]
        if not half:
            return ("Noise moves every system more than a changed meaning",)
        systems = {row.system for row in half}
        of = len({row.system for row in rows})
        keep = "keeps" if len(systems) == 1 else "keep"
        return (f"{len(systems)} of {numbers.counted(of, 'system')} {keep} noise above changed meaning",)
    leader = next((task for task in board.tasks if len(record.scope(task.name).first) == 1), None)
    if leader is None:
        return (f"SAGE: {numbers.counted(len(board.tasks), 'task')}, no task with a single leader",)
    return (name(board.row(record.scope(leader.name).first[0])), f" {leader.superlative}")


def _shares(record: Record, board: Board) -> list[Sentence]:
    """The largest share of documents on which noise stays above changed meaning, and what caps the score."""
    rows = relation_rows(record, board)
    if not rows:
        return []
    most = max(rows, key=lambda row: row.value or 0)
    return [
        _most_share(record, board, most) if most.value else _no_share(record, rows),
        ("Robustness saturates at one third: look at the shares, not only at the score.",),
    ]


def _most_share(record: Record, board: Board, most: Result) -> Sentence:
    where = f" on {most.dataset}" if len(record.datasets("robustness")) > 1 else ""
    of = "documents" if most.n < 100 else "of the documents"
    share = f"On at most {numbers.share(most.value or 0, most.n)} {of}{where}"
    return (
        f"{share} every superficial edit stays above every meaning change: ",
        name(board.row(most.system)),
        ".",
    )


def _no_share(record: Record, rows: Sequence[Result]) -> Sentence:
    n = item_count(record, BY_NAME["robustness"], rows[0].system)
    return (f"No system keeps every superficial edit above every meaning change on any of {n:,} documents.",)


def _places(record: Record, board: Board) -> list[Sentence]:
    """Who may be first on the tasks that have ranks, tasks with the same answer together."""
    tasks_of: dict[tuple[str, ...], list[str]] = {}
    for task in board.tasks:
        first = record.scope(task.name).first
        if first:
            tasks_of.setdefault(first, []).append(task.short.lower())
    return [_place(board, first, tasks) for first, tasks in tasks_of.items()]


def _place(board: Board, first: tuple[str, ...], tasks: list[str]) -> Sentence:
    where = plain(listed(tasks))
    if len(first) > MOST_NAMES:
        return (f"{numbers.in_words(len(first)).capitalize()} systems may be first on {where}.",)
    names: list[Part] = [name(board.row(system)) for system in first]
    return ("Only " if len(first) == 1 else "", *listed(names, "or"), f" may be first on {where}.")
