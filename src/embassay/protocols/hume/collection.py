"""Answers to a study: on their way in, with their place in a file; all that it has, in files and store; scripted ones.

Scripted annotators know the gold and err in a known way: they stand in for people where there are none, for
demonstrations, tests and loads of a server. Every such answer is marked `simulated`, and tables say so: nobody
annotated, and a score of theirs says nothing about people.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.protocols.hume.store import AnswerStore, has_answer_store, open_answer_store, stored_annotations
from embassay.protocols.hume.study import (
    ANNOTATIONS,
    Annotation,
    AnnotationRow,
    Family,
    RatingScale,
    StudyFolder,
    StudyTask,
    Who,
    read_jsonl_rows,
)
from embassay.randomness import draw_random_bytes

_MEND = "Correct or delete the line, or export the annotations again."


def collect_study_annotations(folder: StudyFolder, files: Sequence[Path] = ()) -> tuple[Annotation, ...]:
    """The annotations of `annotations/*.jsonl` in the order of files and lines, then what `hume serve` stored for the
    study, by annotator and item; or only those of `files`.

    Raises DataError for an item that the study has not, and for an answer that appears twice, in files or in a file
    and in the store.
    """
    known = {item.id for item in folder.items}
    by_key: dict[tuple[str, str], Annotation] = {}
    for path in files or sorted((folder.path / ANNOTATIONS).glob("*.jsonl")):
        for line, row in read_jsonl_rows(path, AnnotationRow, _MEND):
            key = row.annotator_id, row.item_id
            if row.item_id not in known or key in by_key:
                what = "appears twice" if key in by_key else "is for an item that is not in the study"
                raise DataError(
                    f"The answer by {row.annotator_id} to {row.item_id} {what}", path=path, line=line,
                    mend="Keep one line per annotator and item of this study."
                )  # fmt: skip
            by_key[key] = make_annotation_from_file_row(row)
    return (*by_key.values(), *(() if files else _read_stored_annotations(folder, by_key)))


def _read_stored_annotations(folder: StudyFolder, filed: Container[tuple[str, str]]) -> tuple[Annotation, ...]:
    """What the store of the study holds."""

    if not has_answer_store(folder):
        return ()
    store = open_answer_store(folder, read_only=True)
    try:
        stored = stored_annotations(store)
    finally:
        store.close()
    for annotation in stored:
        if (annotation.annotator_id, annotation.item_id) in filed:
            raise DataError(
                f"The answer by {annotation.annotator_id} to {annotation.item_id} is both in a file in "
                f"{folder.path / ANNOTATIONS} and in {store.database.place}.",
                mend="If the file came from this store, move it away; otherwise name the files to use.",
            )
    return stored


def make_annotation_from_file_row(row: AnnotationRow) -> Annotation:
    """A row of a file as an annotation: lists become tuples."""
    value = tuple(row.value) if isinstance(row.value, list) else row.value
    return Annotation(**{**row.model_dump(), "value": value})


Key = tuple[str, str]
"""Annotator and item."""


def read_annotation_files(folder: StudyFolder) -> dict[Path, list[AnnotationRow]]:
    """The rows of every file in `annotations/`."""
    return {
        path: [row for _, row in read_jsonl_rows(path, AnnotationRow)]
        for path in sorted((folder.path / ANNOTATIONS).glob("*.jsonl"))
    }


def read_final_answers_from_store(folder: StudyFolder, database: str | None = None) -> list[AnnotationRow]:
    """What the store holds that is decided: drafts and what was taken back are not there. None where nothing was ever
    served. Raises ModelError where the server of the store does not answer."""
    if not has_answer_store(folder) and database is None:
        return []
    store = open_answer_store(folder, database, read_only=True)
    try:
        return list_annotation_rows_of_store(store)
    finally:
        store.close()


def list_annotation_rows_of_store(store: AnswerStore) -> list[AnnotationRow]:
    """What annotators have decided, by annotator and item."""
    kinds = {annotator.id: annotator.annotation_author_kind for annotator in store.annotators()}
    return [
        AnnotationRow(
            item_id=answer.item_id,
            annotator_id=annotator,
            value=answer.value,
            ts=answer.saved_at,
            seconds=answer.seconds,
            kind=kinds[annotator],
            flag=answer.flag,
            comment=answer.comment,
        )
        for annotator, answers in store.list_all_answers().items()
        for answer in answers.values()
        if answer.is_annotator_done_with_item
    ]


def read_json_document(path: Path, mend: str) -> Any:
    """The JSON value that another tool's file holds; DataError with the `mend` where it holds none."""
    try:
        return parse_bounded_json(read_bounded_file(path))
    except (OSError, ValueError) as error:
        raise DataError("The file cannot be read as JSON", path=path, found=str(error)[:120], mend=mend) from None


def read_answers_of_files_and_store(folder: StudyFolder, database: str | None = None) -> list[AnnotationRow]:
    """Everybody's answers, by annotator and then in the order of the study's items.

    Raises DataError for an item that the study has not, and where a file and the store say different things.
    """
    order = {item.id: place for place, item in enumerate(folder.items)}
    by_key: dict[Key, AnnotationRow] = {}
    for row in [
        *(row for rows in read_annotation_files(folder).values() for row in rows),
        *read_final_answers_from_store(folder, database),
    ]:
        if row.item_id not in order:
            raise DataError(
                f"{row.annotator_id} answered {row.item_id}, which is not an item of the study.",
                mend="Keep only answers to items of this study.",
            )
        held = by_key.setdefault((row.annotator_id, row.item_id), row)
        if (held.value, held.flag) != (row.value, row.flag):
            raise DataError(
                f"{row.annotator_id} has two different answers to {row.item_id} in the files or the store.",
                mend=f"Keep one of them: edit or delete the file in {folder.path / ANNOTATIONS}.",
            )
    return sorted(by_key.values(), key=lambda row: (row.annotator_id, order[row.item_id]))


Format = Literal["csv", "jsonl", "label-studio", "argilla"]
FORMATS: tuple[Format, ...] = ("csv", "jsonl", "label-studio", "argilla")
SKIPPED = "skipped"
"""The flag of an item that an annotator left with the tool's own button for that, without a reason."""


@dataclass(frozen=True)
class LocationInFile:
    """The location of something: a file, and a line or the words for a place in it."""

    path: Path
    line: int | None = None
    words: str = ""

    def make_data_error(self, what: str, *, expected: str = "", found: str = "", mend: str = "") -> DataError:
        """Make the error that says what is wrong at this place of a file."""
        words = f"{self.words}: {what}" if self.words else what
        return DataError(words, path=self.path, line=self.line, expected=expected, found=found, mend=mend)


@dataclass(frozen=True)
class AnswerFromFile:
    """An answer that a file holds. `annotator_id` is "" where the file does not say who gave it; `value` is as the file
    has it, None for an item that was not answered. What somebody `decides` as an adjudicator is no annotation."""

    item_id: str
    annotator_id: str
    value: Any
    at: LocationInFile
    ts: str = ""
    seconds: float | None = None
    kind: Who = "person"
    flag: str = ""
    comment: str = ""
    decides: bool = False

    def __post_init__(self) -> None:
        for text in (self.annotator_id, self.value, self.ts, self.flag, self.comment):
            try:
                str(text).encode()
            except UnicodeEncodeError:
                raise self.at.make_data_error(
                    "half of a surrogate pair, which is not valid text", found=ascii(text)[:60],
                    mend="Write the complete character, or remove it."
                ) from None  # fmt: skip


@dataclass
class AnswersReadFromFile:
    """What was read of a file: answers, what was left out with the reason and how often, remarks for the user, and
    what annotators said of themselves."""

    answers: list[AnswerFromFile] = field(default_factory=list)
    profiles: list[tuple[str, Mapping[str, Any], LocationInFile]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def count_left_out_answer(self, why: str) -> None:
        """Count something that is no answer."""
        self.left_out[why] = self.left_out.get(why, 0) + 1


KIND: Who = "simulated"
Chance = Callable[..., float]
"""A number in (0, 1) by what it is for: the same for the same words."""


def simulate_annotators(folder: StudyFolder, annotators: int, *, noise: float, seed: int) -> list[AnnotationRow]:
    """The answers of several scripted annotators to a whole study: `simulated-1` and so on."""
    golds = {task.name: folder.gold(task.name) for task in folder.study.tasks}
    return [
        row
        for number in range(1, annotators + 1)
        for task in folder.study.tasks
        for row in simulate_task_answers(task, golds[task.name], f"{KIND}-{number}", noise=noise, seed=seed)
    ]


def simulate_task_answers(
    task: StudyTask, gold: Mapping[str, Any], annotator_id: str, *, noise: float, seed: int
) -> list[AnnotationRow]:
    """The answers of one scripted annotator to every item of a task, in the order of `gold`.

    `noise` in [0, 1] is, by family: the chance that a label is another one, drawn evenly; that a mark is toggled; that
    a text is moved to another group, drawn evenly; and for ratings the standard deviation of a normal error, as a share
    of the scale, before the rating is rounded to a step and held on the scale. Two annotators err independently; the
    answers do not depend on the order of items. Raises UsageError for a noise outside [0, 1].
    """
    if not 0 <= noise <= 1:
        raise UsageError(f"The noise is {noise:g}.", mend="Use a share from 0 to 1.")

    def draw_random_number(*names: str) -> float:
        # Half a step from both ends: 0 and 1 have no finite normal quantile.
        drawn = draw_random_bytes(8, seed, "simulated", task.name, annotator_id, *names)
        return (int.from_bytes(drawn, "big") + 0.5) / 2**64

    answers = _ANSWERS[task.family](task, gold, noise, draw_random_number)
    return [
        AnnotationRow(
            item_id=item,
            annotator_id=annotator_id,
            value=value,
            seconds=round(3 + 27 * draw_random_number("seconds", item), 1),
            kind=KIND,
        )
        for item, value in answers.items()
    ]


def _simulate_labels(task: StudyTask, gold: Mapping[str, Any], noise: float, chance: Chance) -> dict[str, Any]:
    labels = task.spec.labels or tuple(sorted(set(gold.values()), key=str))
    return {item: _replace_value_with_chance(label, labels, noise, chance, item) for item, label in gold.items()}


def _simulate_clustering_answer(
    _task: StudyTask, gold: Mapping[str, Any], noise: float, chance: Chance
) -> dict[str, Any]:
    clusters = tuple(dict.fromkeys(gold.values()))
    moved = {item: _replace_value_with_chance(cluster, clusters, noise, chance, item) for item, cluster in gold.items()}
    # Named as someone would who met the texts in this order: gold names would be telling.
    names = {cluster: f"group {place}" for place, cluster in enumerate(dict.fromkeys(moved.values()), 1)}
    return {item: names[cluster] for item, cluster in moved.items()}


def _simulate_ratings(task: StudyTask, gold: Mapping[str, Any], noise: float, chance: Chance) -> dict[str, Any]:
    scale = task.scale or RatingScale()
    spread = noise * (scale.high - scale.low)
    return {
        item: round_rating_to_scale_step(
            rating + (NormalDist(0, spread).inv_cdf(chance("rating", item)) if spread else 0), scale
        )
        for item, rating in gold.items()
    }


def _simulate_marks(_task: StudyTask, gold: Mapping[str, Any], noise: float, chance: Chance) -> dict[str, Any]:
    return {
        item: [int((grade > 0) != (chance("mark", item, str(place)) < noise)) for place, grade in enumerate(grades)]
        for item, grades in gold.items()
    }


def check_nobody_answered(folder: StudyFolder) -> None:
    """Raises UsageError where people have answered the study: scripts would count beside them in every score."""

    answers = list(collect_study_annotations(folder))
    if has_answer_store(folder):
        store = open_answer_store(folder, read_only=True)
        try:
            answers += stored_annotations(store)
        finally:
            store.close()
    people = sorted({annotation.annotator_id for annotation in answers if annotation.kind == "person"})
    if people:
        raise UsageError(
            f"People have answered this study ({', '.join(people)}), and simulated answers would count in every score.",
            mend="Sample the study again into another folder and simulate there.",
        )


def round_rating_to_scale_step(rating: float, scale: RatingScale) -> float:
    """The step of the scale nearest to a rating, the higher of two; its ends are the limits.

    >>> round_rating_to_scale_step(2.4, RatingScale(step=0.5)), round_rating_to_scale_step(7.0, RatingScale())
    (2.5, 5.0)
    """
    steps = int((scale.high - scale.low) / scale.step + 1e-9)
    step = int((rating - scale.low) / scale.step + 0.5) if rating > scale.low else 0
    return float(scale.low + min(step, steps) * scale.step)


def _replace_value_with_chance(own: Any, among: Sequence[Any], noise: float, chance: Chance, item: str) -> Any:
    """Replace a value, with the chance `noise`, by another one of `among`."""
    others = [value for value in among if value != own]
    if not others or chance("errs", item) >= noise:
        return own
    return others[int(chance("which", item) * len(others))]


_ANSWERS: Mapping[Family, Callable[[StudyTask, Mapping[str, Any], float, Chance], dict[str, Any]]] = {
    "classification": _simulate_labels,
    "clustering": _simulate_clustering_answer,
    "sts": _simulate_ratings,
    "reranking": _simulate_marks,
}
