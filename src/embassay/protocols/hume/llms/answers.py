"""What a language model answered: one file per model and mode, `llm/*.jsonl`, a line per item and run."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.options import Mode
from embassay.protocols.hume.scoring import (
    MAIN,
    ScoresByMeasure,
    average_precision_of_marks,
    classification_scores,
    reranking_scores,
    sts_scores,
)
from embassay.protocols.hume.study import (
    Family,
    Gold,
    StudyFolder,
    TaskSpec,
    convert_value_for_scoring,
    read_jsonl_rows,
)
from embassay.runs.folder import slugify_name, write_file_atomically

LLM = "llm"
Status = Literal["ok", "completed", "unparsed", "failed"]
"""ok: read at once or on the second try; completed: missing documents were added to a ranking in display order;
unparsed: no answer could be read; failed: the call failed for good."""


class LlmAnswerRow(BaseModel):
    """A line: `value` is a label, a rating, a list of 0 and 1 (mode binary) or of the places of the documents from the
    most relevant on (mode ranking, from 0), null where there is none; `text` is what the model said."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    item_id: str
    task: str
    run: int
    mode: Mode
    status: Status
    value: Any = None
    text: str = ""
    prompt: str = ""
    reason: str = ""
    usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True)
class AnswersOfOneLlm:
    """All answers of one model in one mode; `prompt` is the hash of the prompts' version."""

    model: str
    mode: Mode
    rows: tuple[LlmAnswerRow, ...]

    def of(self, task: str) -> tuple[LlmAnswerRow, ...]:
        """The answers to the items of a task."""
        return tuple(row for row in self.rows if row.task == task)


def read_llm_answers(folder: StudyFolder, files: Sequence[Path] = ()) -> tuple[AnswersOfOneLlm, ...]:
    """The answers of all models that annotated the study, by the names of their files.

    Raises DataError for a file of several models or modes, and for an item that the study has not.
    """
    ids = {item.id for item in folder.items}
    tables = []
    for path in files or sorted((folder.path / LLM).glob("*.jsonl")):
        rows = []
        for line, row in read_jsonl_rows(path, LlmAnswerRow):
            if row.item_id not in ids:
                raise DataError(
                    f"The study has no item {row.item_id}", path=path, line=line,
                    mend="Pass answers to items of this study."
                )  # fmt: skip
            rows.append(row)
        kinds = {(row.model, row.mode) for row in rows}
        if len(kinds) > 1:
            raise DataError("The file contains answers from several models or modes", path=path, mend="Split the file.")
        if rows:
            tables.append(AnswersOfOneLlm(rows[0].model, rows[0].mode, tuple(rows)))
    return tuple(tables)


_MEND = "Delete the file, or request new answers with --replace."
Key = tuple[str, int]
"""Item and run."""


def llm_answer_path(study: Path, model: str, mode: Mode) -> Path:
    """The path of the file with a model's answers."""
    return study / LLM / f"{slugify_name(model)}.{mode}.jsonl"


class LlmAnswerFile:
    """The rows of one model in one mode. A line that a crash has cut is left out, and its question is asked again."""

    def __init__(self, path: Path, folder: StudyFolder, *, fresh: bool = False) -> None:
        self.path = path
        self._order = {item.id: place for place, item in enumerate(folder.items)}
        if fresh:
            path.unlink(missing_ok=True)
        self._cut = 0
        self.rows: dict[Key, LlmAnswerRow] = self._read_answer_rows()

    def answered(self) -> Mapping[Key, LlmAnswerRow]:
        """The rows that need not be asked again: all but those whose call failed."""
        return {key: row for key, row in self.rows.items() if row.status != "failed"}

    def append(self, row: LlmAnswerRow) -> None:
        """Append an answer's row to the file at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_incomplete_line()
        line = (row.model_dump_json() + "\n").encode()
        # In one write: a killed process leaves whole lines.
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)
        self.rows[row.item_id, row.run] = row

    def write_llm_answers_in_study_order(self) -> None:
        """Write all rows by run and by the order of the study's items, each once."""
        rows = sorted(self.rows.values(), key=lambda row: (row.run, self._order[row.item_id]))
        if rows:
            write_file_atomically(self.path, "".join(row.model_dump_json() + "\n" for row in rows))

    def _read_answer_rows(self) -> dict[Key, LlmAnswerRow]:
        if not self.path.exists():
            return {}
        lines = self.path.read_bytes().split(b"\n")
        rows: dict[Key, LlmAnswerRow] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = LlmAnswerRow.model_validate_json(line)
            except ValidationError:
                if number == len(lines):
                    # No line end behind it: a crash cut it.
                    continue
                raise DataError("The line is not a valid answer", path=self.path, line=number, mend=_MEND) from None
            if row.item_id not in self._order:
                raise DataError(
                    f"The study has no item {row.item_id}", path=self.path, line=number,
                    mend=_MEND
                )  # fmt: skip
            rows[row.item_id, row.run] = row
        self._cut = len(lines[-1])
        return rows

    def _cut_incomplete_line(self) -> None:
        """Take away what follows the last whole line, so that the next one begins a line."""
        if self._cut:
            os.truncate(self.path, self.path.stat().st_size - self._cut)
            self._cut = 0


LLM_FAMILIES: tuple[Family, ...] = ("classification", "reranking", "sts")
"""Families that language models annotate; ids of clusters are hard to ask for consistently (spec hume 8.1)."""
MOST_LEFT_OUT = 0.05
"""The share of items without an answer above which there is no score."""
_UNREAD = "\0"
"""Stands for an answer that cannot be read, where no label can be."""


@dataclass(frozen=True)
class LlmTaskScores:
    """A language model on a task: `runs` in their order, and in `scores` the mean of every measure over them (empty
    where there is none, and `reason` says why).

    `answers` holds for every run what was scored, by item: a label (None for one that could not be read), a rating, or
    a score per document by which they are ranked. `values` is the mean over runs of what an item is worth: right or
    not, its average precision; empty for STS. `statuses` counts rows; `missing` are items of a run that have no row.
    """

    family: Family
    mode: Mode
    runs: tuple[ScoresByMeasure, ...]
    scores: Mapping[str, float]
    answers: tuple[Mapping[str, Any], ...]
    values: Mapping[str, float]
    items: int
    statuses: Mapping[Status, int]
    missing: int = 0
    reason: str = ""

    @property
    def score(self) -> float:
        """The score by the family's main measure, mean over runs; NaN where there is none."""
        return self.scores.get(MAIN[self.family], math.nan)

    @property
    def failed(self) -> int:
        """The number of answers that are missing or unreadable, over all runs."""
        return self.statuses.get("unparsed", 0) + self.statuses.get("failed", 0) + self.missing


def score_llm_answers(task: TaskSpec, gold: Gold, rows: Sequence[LlmAnswerRow]) -> LlmTaskScores:
    """Score a model's answers to a task, `rows` of one mode as `read_llm_answers` gives them, `gold` as
    `map_items_to_gold_values`.

    Accuracy and F1s, Spearman and Pearson over the items with a rating, MAP of a ranking or (mode binary) of marks with
    people's tie-aware rule. Source: spec hume 8.1. Raises UsageError for clustering, no rows, or rows of several modes;
    DataError for a repeated row, an item without gold or a value that is no answer.

    >>> rows = [LlmAnswerRow(model="m", item_id=i, task="t", run=0, mode="ranking", status="ok",
    ... value="a") for i in "12"]
    >>> score_llm_answers(TaskSpec("t", "classification", "eng"), {"1": "a", "2": "b"}, rows).score
    0.5
    """
    mode = _find_mode_shared_by_answers(task, rows)
    by_run = _group_rows_by_run(task, rows)
    answers = tuple(_collect_scored_answers_of_run(task, gold, mode, own) for own in by_run)
    missing = sum(len(gold) - len(own) for own in by_run)
    statuses = Counter(row.status for row in rows)
    runs = tuple(_score_answers_of_llm_run(task.family, gold, own) for own in answers)
    left_out = statuses["failed"] + missing
    reason = _explain_missing_score(task, left_out, len(gold) * len(by_run), runs)
    return LlmTaskScores(
        task.family, mode, runs,
        {} if reason else _average_scores_by_measure([run.scores for run in runs if run.items]), answers,
        {} if task.family == "sts" else _average_scores_by_item(task.family, gold, answers), len(gold), statuses,
        missing, reason
    )  # fmt: skip


def _find_mode_shared_by_answers(task: TaskSpec, rows: Sequence[LlmAnswerRow]) -> Mode:
    if task.family not in LLM_FAMILIES:
        raise UsageError(f"{task.name} is a task of {task.family}.", mend=f"LLMs annotate {', '.join(LLM_FAMILIES)}.")
    modes = {row.mode for row in rows}
    if len(modes) != 1:
        raise UsageError(f"{task.name} has answers in {len(modes)} modes.", mend="Pass the answers from one file only.")
    return modes.pop()


def _group_rows_by_run(task: TaskSpec, rows: Sequence[LlmAnswerRow]) -> list[dict[str, LlmAnswerRow]]:
    runs: dict[int, dict[str, LlmAnswerRow]] = {}
    for row in rows:
        answers = runs.setdefault(row.run, {})
        if row.item_id in answers:
            raise DataError(
                f"The answer by {row.model} to {row.item_id} in run {row.run} appears twice.",
                mend=f"Keep one line per item and run of {task.name}.",
            )
        answers[row.item_id] = row
    return [runs[run] for run in sorted(runs)]


def _collect_scored_answers_of_run(
    task: TaskSpec, gold: Gold, mode: Mode, rows: Mapping[str, LlmAnswerRow]
) -> dict[str, Any]:
    """What is scored of a run, in the order of the items' ids."""
    by_run = {}
    for item, row in sorted(rows.items()):
        if item not in gold:
            raise DataError(f"Item {item} of {task.name} has no gold.", mend="Pass answers to items of this study.")
        if row.status == "failed" or (row.status == "unparsed" and task.family == "sts"):
            continue
        by_run[item] = _convert_llm_answer_row_to_value(task, gold[item], mode, row)
    return by_run


def _convert_llm_answer_row_to_value(task: TaskSpec, gold: Any, mode: Mode, row: LlmAnswerRow) -> Any:
    where = f"The answer by {row.model} to item {row.item_id} of {task.name}"
    if task.family == "reranking" and mode == "ranking":
        return _score_documents_by_order(row, len(gold), where)
    if row.status == "unparsed":
        return None if task.family == "classification" else (0,) * len(gold)
    value = convert_value_for_scoring(task, row.value, where, like=gold if task.family == "reranking" else None)
    if value is None:
        raise DataError(f"{where} has no value.", mend=f"An answer with status {row.status!r} needs a value.")
    return value


def _score_documents_by_order(row: LlmAnswerRow, n: int, where: str) -> tuple[int, ...]:
    """A score per document, the higher the better, from the places in the model's order."""
    order = list(range(n)) if row.status == "unparsed" else row.value
    if not isinstance(order, list | tuple) or sorted(map(str, order)) != sorted(map(str, range(n))):
        raise DataError(f"{where} is {row.value!r}.", mend=f"Give the positions 0 to {n - 1} in some order.")
    places = {int(place): rank for rank, place in enumerate(order)}
    return tuple(n - places[place] for place in range(n))


def _score_answers_of_llm_run(family: Family, gold: Gold, answers: Mapping[str, Any]) -> ScoresByMeasure:
    if not answers:
        return ScoresByMeasure({}, 0)
    true = [gold[item] for item in answers]
    values = list(answers.values())
    if family == "classification":
        return ScoresByMeasure(_score_llm_labels(true, values), len(values))
    scores = sts_scores(true, values) if family == "sts" else reranking_scores(true, values)
    return ScoresByMeasure(scores, len(values))


def _score_llm_labels(true: list[Any], answers: list[Any]) -> dict[str, float]:
    """Score a model's labels as people's are scored; an unreadable one counts as wrong."""
    said = [_UNREAD if label is None else label for label in answers]
    scores = classification_scores(true, said)
    if _UNREAD not in said:
        return scores
    labels = len({*true, *said})
    more = labels / (labels - 1)
    return {name: value * (more if name in ("f1", "precision", "recall") else 1) for name, value in scores.items()}


def _average_scores_by_item(family: Family, gold: Gold, answers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    items = sorted({item for run in answers for item in run})
    every = {
        item: [_score_single_answer(family, gold[item], run[item]) for run in answers if item in run] for item in items
    }
    return {item: math.fsum(values) / len(values) for item, values in every.items()}


def _score_single_answer(family: Family, gold: Any, answer: Any) -> float:
    return float(answer == gold) if family == "classification" else average_precision_of_marks(gold, answer)


def _explain_missing_score(task: TaskSpec, left_out: int, n: int, runs: Sequence[ScoresByMeasure]) -> str:
    if left_out > MOST_LEFT_OUT * n:
        return f"{left_out} of {n} items have no answer (limit: {MOST_LEFT_OUT:.0%})"
    if task.family == "sts" and any(run.items < 2 for run in runs):
        return "fewer than two items have a rating"
    return ""


def _average_scores_by_measure(every: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: math.fsum(scores[name] for scores in every) / len(every) for name in every[0]} if every else {}
