"""The questions whose judgements would tell most, as a study that people answer in a browser, and their answers.

`choose` writes RUN/study, `embassay hume serve RUN/study -a NAME` has people mark which passages answer each question,
and `choose --labels RUN/study` reads what they marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embassay.errors import UsageError
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import digest_json

if TYPE_CHECKING:
    from embassay.protocols.hume.study import StudyFile, StudyItem

STUDY = "study.json"
"""What a folder with a study has."""
STUDIES = "study"
"""The folder of a run with the study; `study-2` and so on where an earlier one was answered."""
TASK = "passages"
MOST_SHOWN = 8
"""Passages of a question that a person reads: the first of each likely system in turn."""
QUESTION = "Which passages answer this?"
GUIDELINES = """You see a question and a few passages. For each passage, say whether it answers the question.

Some questions are sentences from a document. For these, mark the passages that say the same thing, or that
contain what someone searching with the sentence would want. The passage that the sentence comes from is
shown without it.

- **Relevant**: someone who searched with this question would be glad to find the passage.
- **Not relevant**: the passage is about something else, or shares words with the question but does not help.
- Judge each passage on its own. Any number of passages can be relevant, including none.
- Decide on every passage. If you cannot understand a question, flag it.
"""
EXAMPLE = {
    "query": "How long do hens' eggs keep?",
    "documents": [
        {"id": "d1", "text": "Hens lay fewer eggs in winter, when the days are short."},
        {"id": "d2", "text": "In a cool cellar, uncracked eggs stay good for about four weeks."},
    ],
}
MARKS = [0, 1]
WHY = "The second passage says how long. The first is about eggs but does not answer the question."
"""A question to practise on, which passages answer it, and why."""


def write_grading_study(
    run: Path, rows: Sequence[Mapping[str, Any]], lists: Mapping[str, Sequence[Sequence[str]]], seed: int
) -> Path | None:
    """Write the study of the questions `rows` of to_grade.jsonl and return its folder; None of no question. `lists` has
    for each question what the likely systems found, best first. No name of a system is in it, nor is the order theirs.
    """
    from embassay.protocols.hume.study import (
        PracticeItem,
        ShownItemRow,
        StudyFile,
        StudyItemSource,
        StudyTask,
        hash_items_and_gold,
        write_study,
    )

    items = [
        ShownItemRow(
            id=f"q{number}", task=TASK, payload=_make_grading_item_payload(row, lists.get(row["id"], ()), seed)
        )
        for number, row in enumerate(rows, 1)
    ]
    if not items:
        return None
    task = StudyTask(
        name=TASK, family="reranking", lang="mixed", title="Passages", question=QUESTION, guidelines=GUIDELINES,
        n=len(items), practice=[PracticeItem(payload=EXAMPLE, answer=MARKS, explanation=WHY)],
        source=StudyItemSource(dataset=run.name)
    )  # fmt: skip
    study = StudyFile(
        name=f"{run.name}-passages", seed=seed, tasks=[task], content=hash_items_and_gold(items, ()),
        guidelines=digest_json([GUIDELINES, QUESTION])
    )  # fmt: skip
    return write_study(_choose_study_folder(run, study), study, items, ())


def _make_grading_item_payload(row: Mapping[str, Any], lists: Sequence[Sequence[str]], seed: int) -> dict[str, Any]:
    texts = {passage["id"]: passage["text"] for passage in row["passages"]}
    in_turn = (doc for docs in zip_longest(*lists) for doc in docs if doc in texts)
    # In turn, so that no system has more of its passages read than another.
    shown = list(dict.fromkeys(in_turn))[:MOST_SHOWN]
    order = make_seeded_generator(seed, "choose", "study", row["id"]).permutation(len(shown)).tolist()
    documents = [{"id": shown[place], "text": texts[shown[place]]} for place in order]
    return {"query": row["text"], "documents": documents, "query_id": row["id"]}


def _choose_study_folder(run: Path, study: StudyFile) -> Path:
    """Where the study is, or is to be: never in the place of another that somebody has answered."""
    from embassay.protocols.hume.study import read_study

    for number in range(1, 1000):
        folder = run / (STUDIES if number == 1 else f"{STUDIES}-{number}")
        if not (folder / STUDY).is_file() or read_study(folder).study == study:
            return folder
        if not _is_study_answered(folder):
            (folder / STUDY).unlink()
            return folder
    raise UsageError(f"{run} has too many studies.", mend="Delete the ones you do not need.")


def _is_study_answered(folder: Path) -> bool:
    # What serves it keeps its links and answers beside it.
    return any((folder / name).exists() for name in ("answers.sqlite3", "database", "serve.key", "annotations"))


def find_last_study(run: Path) -> Path | None:
    """The newest of a run's studies; None where there is none."""
    folders = [path.parent for path in run.glob(f"{STUDIES}*/{STUDY}")]
    return max(folders, key=lambda path: int(path.name.partition("-")[2] or 1), default=None)


def read_study_questions_and_grades(path: Path) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """The texts of the questions that people answered, and their marks: 1 for a passage that at least half of them call
    relevant, else 0. UsageError where nobody has answered or the study is another kind."""
    from embassay.protocols.hume.collection import collect_study_annotations
    from embassay.protocols.hume.study import read_study

    folder = read_study(path)
    marks: dict[str, list[Sequence[int]]] = {}
    for annotation in collect_study_annotations(folder):
        if isinstance(annotation.value, tuple):
            marks.setdefault(annotation.item_id, []).append(annotation.value)
    answered = [item for item in folder.items if item.id in marks and _is_grading_item(item)]
    if not answered:
        raise UsageError(
            f"Nobody has marked a passage in {path} yet.",
            mend=f"First answer the questions in a browser: embassay hume serve {path} -a NAME",
        )
    grades = {item.payload["query_id"]: _vote_on_passage_marks(item, marks[item.id]) for item in answered}
    # Where people find nothing relevant nothing tells the systems apart.
    qrels = {query: of_query for query, of_query in grades.items() if any(of_query.values())}
    texts = {item.payload["query_id"]: item.payload["query"] for item in answered}
    return {query: texts[query] for query in qrels}, qrels


def _is_grading_item(item: StudyItem) -> bool:
    return item.task == TASK and "query_id" in item.payload


def _vote_on_passage_marks(item: StudyItem, marks: Sequence[Sequence[int]]) -> dict[str, float]:
    shares = np.mean(np.array(marks, dtype=float), axis=0)
    documents = item.payload["documents"]
    return {doc["id"]: float(share >= 0.5) for doc, share in zip(documents, shares.tolist(), strict=True)}
