"""Annotations from files into a study: which format, whose, for which items; checked whole before any is written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.protocols.hume.collection import (
    FORMATS,
    AnswerFromFile,
    AnswersReadFromFile,
    Format,
    Key,
    read_annotation_files,
    read_final_answers_from_store,
)
from embassay.protocols.hume.exchange.argilla import is_argilla_export, read_argilla_answers
from embassay.protocols.hume.exchange.export import read_csv_answers, read_jsonl_answers
from embassay.protocols.hume.exchange.label_studio import is_label_studio_export, read_label_studio_answers
from embassay.protocols.hume.profiles import (
    check_annotator_profile_answers,
    read_profiles_file,
    write_annotator_profiles,
)
from embassay.protocols.hume.store import (
    AnswerStore,
    RefusedAnswer,
    SubmittedAnswer,
    convert_answer_for_storage,
    open_answer_store,
)
from embassay.protocols.hume.study import ANNOTATIONS, ANSWERS, AnnotationRow, StudyFolder, read_study
from embassay.runs.folder import RunFolder, slugify_name, write_file_atomically

_MARKS = re.compile(r"\s*\[?\s*[01](?:[\s,;]*[01])*\s*\]?\s*")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,80}")


@dataclass(frozen=True)
class AnnotatorNameRules:
    """Who annotators are: `only` names those whose file does not say so, `renamed` maps what a file calls somebody."""

    only: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse_annotator_name_options(cls, given: Sequence[str]) -> AnnotatorNameRules:
        """From `--annotator ann` or `--annotator 3=ann`. Raises UsageError for several names without a `=`."""
        plain = [pair for pair in given if "=" not in pair]
        if len(plain) > 1:
            raise UsageError(
                f"{len(plain)} annotators are named, but it is unclear who gave which answers.",
                mend="Map each name in the files to an annotator, such as --annotator 3=ann.",
            )
        pairs = (pair.partition("=") for pair in given if "=" in pair)
        return cls(plain[0].strip() if plain else "", {old.strip(): new.strip() for old, _, new in pairs})

    def of(self, one: AnswerFromFile) -> str:
        """The annotator of an answer; "" where nobody says."""
        return self.renamed.get(one.annotator_id, one.annotator_id) or self.only


def convert_imported_answers_to_rows(
    folder: StudyFolder, answers: Iterable[AnswerFromFile], names: AnnotatorNameRules
) -> list[AnnotationRow]:
    """The answers as rows of the study. Raises DataError for the first that cannot be one, saying how many cannot: an
    item that the study has not, nobody's answer, a value that the task does not know, the same answer twice."""
    rows: dict[Key, tuple[AnnotationRow, AnswerFromFile]] = {}
    faults: list[DataError] = []
    items = {item.id: item for item in folder.items}
    for answer in answers:
        try:
            row = _convert_imported_answer_to_row(folder, items, answer, names)
            key = row.annotator_id, row.item_id
            if key in rows:
                first = rows[key][1].at
                where = f"line {first.line}" if first.line else first.words
                raise answer.at.make_data_error(
                    f"the answer by {row.annotator_id} to {row.item_id} appears twice, first in "
                    f"{first.path.name}, {where}",
                    mend="Keep one of them.",
                )
            rows[key] = row, answer
        except DataError as error:
            faults.append(error)
    if faults:
        raise _merge_faults_into_one_error(faults)
    return [row for row, _ in rows.values()]


def _convert_imported_answer_to_row(
    folder: StudyFolder, items: Mapping[str, Any], answer: AnswerFromFile, names: AnnotatorNameRules
) -> AnnotationRow:
    annotator = names.of(answer)
    if answer.item_id not in items:
        raise answer.at.make_data_error(
            f"{answer.item_id} is not an item of the study",
            mend="Use the item ids of this study, which are in items.jsonl.",
        )
    if not annotator:
        raise answer.at.make_data_error("no annotator is named", mend="Name the annotator: --annotator NAME.")
    if not _NAME.fullmatch(annotator):
        raise answer.at.make_data_error(
            "the annotator's name is too long or not plain text", found=repr(annotator)[:60]
        )
    item = items[answer.item_id]
    task = folder.task(item.task)
    try:
        value = convert_answer_for_storage(
            task, item.payload, _parse_marks(answer.value) if task.family == "reranking" else answer.value
        )
    except DataError as error:
        raise answer.at.make_data_error(
            f"the answer to {answer.item_id} is {answer.value!r}"[:200],
            mend=error.mend or "Use a value that the task allows.",
        ) from None
    return AnnotationRow(
        item_id=answer.item_id, annotator_id=annotator, value=value, ts=answer.ts, seconds=answer.seconds,
        kind=answer.kind, flag=answer.flag, comment=answer.comment
    )  # fmt: skip


def _parse_marks(value: Any) -> Any:
    """Marks that a table has as text: `[1, 0]`, `1 0`, `1;0` or `10`."""
    if not isinstance(value, str) or not _MARKS.fullmatch(value):
        return value
    return [int(sign) for sign in value if sign in "01"]


def _merge_faults_into_one_error(faults: Sequence[DataError]) -> DataError:
    first, more = faults[0], len(faults) - 1
    if not more:
        return first
    return DataError(
        f"{first.what} (and {more} more such lines)", path=first.path, line=first.line, expected=first.expected,
        found=first.found, mend=first.mend
    )  # fmt: skip


def collect_checked_profiles(
    folder: StudyFolder, taken: Iterable[AnswersReadFromFile], names: AnnotatorNameRules
) -> dict[str, dict[str, str]]:
    """What annotators said of themselves, as far as the study asks; of a study that asks nothing it is left out and
    counted. Raises DataError, with file and line, for what is no answer to its questions."""
    profiles: dict[str, dict[str, str]] = {}
    for file in taken:
        for annotator, profile, at in file.profiles:
            name = names.renamed.get(annotator, annotator) or names.only
            if not folder.study.profile:
                file.count_left_out_answer("profiles that the study does not ask for")
                continue
            if not name:
                raise at.make_data_error("no annotator is named", mend="Name the annotator: --annotator NAME.")
            try:
                profiles.setdefault(name, {}).update(check_annotator_profile_answers(folder.study, profile))
            except DataError as error:
                raise at.make_data_error(error.what.rstrip("."), mend=error.mend) from None
    return profiles


def count_overwritten_rows(folder: StudyFolder, rows: Sequence[AnnotationRow], *, replace: bool) -> int:
    """How many of the rows take the place of one that is there. Raises UsageError where any would and `replace` is not
    set, and always for answers in the store of `hume serve`, which belong to its annotators."""
    new = {(row.annotator_id, row.item_id) for row in rows}
    stored = {(row.annotator_id, row.item_id) for row in read_final_answers_from_store(folder)} & new
    if stored:
        who = ", ".join(sorted({annotator for annotator, _ in stored}))
        raise UsageError(
            f"{who} already answered {len(stored)} of these items in `embassay hume serve`.",
            mend="Import under another name: --annotator OLD=NEW.",
        )
    before = {
        (row.annotator_id, row.item_id): path for path, held in read_annotation_files(folder).items() for row in held
    }
    again = [key for key in before if key in new]
    if again and not replace:
        who = ", ".join(sorted({annotator for annotator, _ in again}))
        raise UsageError(
            f"{before[again[0]].name} already contains {len(again)} of these answers by {who}.",
            mend="Pass --replace to overwrite them.",
        )
    return len(again)


def write_rows_by_annotator(folder: StudyFolder, rows: Sequence[AnnotationRow]) -> list[Path]:
    """Put the rows into one file for each annotator, in place of earlier answers of theirs to the same items, whichever
    file has them."""
    new = {(row.annotator_id, row.item_id) for row in rows}
    files = read_annotation_files(folder)
    changed: dict[Path, list[AnnotationRow]] = {}
    targets = {folder.path / ANNOTATIONS / f"{slugify_name(row.annotator_id)}.jsonl" for row in rows}
    for path, held in files.items():
        kept = [row for row in held if (row.annotator_id, row.item_id) not in new]
        if len(kept) < len(held):
            changed[path] = kept
    for row in rows:
        path = folder.path / ANNOTATIONS / f"{slugify_name(row.annotator_id)}.jsonl"
        changed.setdefault(path, list(files.get(path, ()))).append(row)
    # In the order of the study, so that an import twice gives the same bytes.
    order = {item.id: place for place, item in enumerate(folder.items)}
    # New answers first: a crash in between leaves one twice, which is said, never none.
    for path, held in sorted(changed.items(), key=lambda item: item[0] not in targets):
        held.sort(key=lambda row: (row.annotator_id, order[row.item_id]))
        if held:
            write_file_atomically(path, "".join(row.model_dump_json() + "\n" for row in held))
        else:
            path.unlink()
    return sorted(targets)


def store_adjudicator_decisions(folder: StudyFolder, rows: Sequence[AnnotationRow], *, replace: bool) -> int:
    """Keep what adjudicators decided beside what they decide on the pages of `hume serve`; how many decisions are new
    in the place of others. Raises UsageError where any would be and `replace` is not set, and for an adjudicator who
    annotated."""
    store = open_answer_store(folder)
    try:
        for who in dict.fromkeys(row.annotator_id for row in rows):
            store.add_annotator(who, "adjudicator")
        held, tasks = store.list_adjudicator_decisions(), {item.id: item.task for item in folder.items}
        again = [
            row
            for row in rows
            if (before := held.get(row.annotator_id, {}).get(row.item_id)) and not before.is_taken_back
            and (before.value, before.flag, before.comment) != (row.value, row.flag, row.comment)
        ]  # fmt: skip
        if again and not replace:
            raise UsageError(
                f"{again[0].annotator_id} has already decided {len(again)} of these items differently.",
                mend="Pass --replace to overwrite those decisions.",
            )
        for row in rows:
            _store_adjudicator_decision(store, row, tasks[row.item_id])
    finally:
        store.close()
    return len(again)


def _store_adjudicator_decision(store: AnswerStore, row: AnnotationRow, task: str) -> None:
    before = store.answers(row.annotator_id).get(row.item_id)
    if before and (before.value, before.flag, before.comment) == (row.value, row.flag, row.comment):
        return
    # Taken from a page that may be open: the import writes, whoever holds the right.
    store.try_to_take_write_lease(row.annotator_id, "import", take=True)
    seq = store.find_last_change_number_of_annotator(row.annotator_id) + 1
    draft = SubmittedAnswer(row.item_id, row.value, seq, row.seconds, row.flag, row.comment, "import")
    if isinstance(store.save(row.annotator_id, task, draft), RefusedAnswer):
        raise UsageError(
            f"{row.annotator_id} has already finished {task} in `embassay hume serve`.",
            mend="Import under another name: --annotator OLD=NEW.",
        )


def guess_answer_file_format(path: Path) -> Format:
    """The format of a file: a list of tasks or records is Label Studio's or Argilla's, lines of objects are JSONL, and
    what begins with a header is CSV. Raises DataError for a file that is none, is not there, or is too large."""
    _require_existing_annotation_file(path)
    content = read_bounded_file(path)
    # A byte order mark and blank lines come before the first sign of what it is.
    head = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head:
        raise DataError("The file is empty", path=path, mend="Pass a file with annotations.")
    if head[:1] not in (b"{", b"["):
        return "csv"
    try:
        document = parse_bounded_json(content)
    except ValueError:
        # Several objects, one after another, or a broken line: reading says which line.
        return "jsonl"
    if is_label_studio_export(document):
        return "label-studio"
    if is_argilla_export(document):
        return "argilla"
    if isinstance(document, dict) and "item_id" in document:
        return "jsonl"
    raise DataError(
        "Unknown file format", path=path, expected=", ".join(FORMATS),
        mend="Pass --format, or export the file again as JSON."
    )  # fmt: skip


def _require_existing_annotation_file(path: Path) -> None:
    if not path.is_file():
        raise DataError("There is no such file", path=path, mend="Pass a file with annotations.")


_READERS: Mapping[Format, Callable[[Path, StudyFolder], AnswersReadFromFile]] = {
    "csv": lambda path, _: read_csv_answers(path),
    "jsonl": lambda path, _: read_jsonl_answers(path),
    "label-studio": read_label_studio_answers,
    "argilla": read_argilla_answers,
}


@dataclass(frozen=True)
class AnswerImportResult:
    """What an import came to: `answers` taken by annotator and task, of which `impossible` have no value but a reason;
    `replaced` took the place of earlier ones; what was `left_out`, and how often, by the reason."""

    files: tuple[tuple[str, Format], ...]
    written: tuple[Path, ...]
    answers: Mapping[tuple[str, str], int]
    impossible: int
    replaced: int
    left_out: Mapping[str, int]
    remarks: tuple[str, ...]
    new_annotators: tuple[str, ...] = ()
    open: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Items of a task that an annotator has no answer to."""
    decisions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """What adjudicators decided, by adjudicator and task: no annotation."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        rows = [
            {"annotator": who, "task": task, "answers": n, "open": self.open.get((who, task), 0)}
            for (who, task), n in self.answers.items()
        ]
        return {
            "files": [{"file": name, "format": kind} for name, kind in self.files],
            "written": [str(path) for path in self.written], "answers": rows, "impossible": self.impossible,
            "replaced": self.replaced, "left_out": dict(self.left_out), "remarks": list(self.remarks),
            "new_annotators": list(self.new_annotators),
            "decisions": [{"adjudicator": who, "task": task, "items": n} for (who, task), n in self.decisions.items()]
        }  # fmt: skip


def import_files(
    study: Path,
    files: Sequence[Path],
    *,
    form: Format | None = None,
    annotator: Sequence[str] = (),
    replace: bool = False,
) -> AnswerImportResult:
    """Take the annotations of `files` into the study's `annotations/`, a file for each annotator, and what adjudicators
    decided to their decisions.

    `form` is their format, by default guessed for each; `annotator` names whoever a file does not (`ann`), or gives
    names in place of a file's (`3=ann`). Nothing is written unless all can be: DataError for an unknown item, a value
    that the task does not know, an answer twice or of nobody, with file and line; UsageError for answers that are there
    already, unless `replace` puts these in their place.
    """
    if form is not None and form not in FORMATS:
        raise UsageError(f"Unknown format: {form!r}.", mend=f"Use one of {', '.join(FORMATS)}.")
    if not files:
        raise UsageError("No files were given.", mend="Pass one or more files with annotations.")
    folder, names = read_study(study), AnnotatorNameRules.parse_annotator_name_options(annotator)
    kinds = [(path, form or guess_answer_file_format(path)) for path in files]
    taken = [_READERS[kind](path, folder) for path, kind in kinds]
    answers = [answer for file in taken for answer in file.answers]
    if not answers:
        why = "; ".join(f"{count} {what}" for what, count in _count_left_out_answers(taken).items())
        raise DataError("No answers to import", path=files[0], found=why, mend="Pass files with answers.")
    rows = convert_imported_answers_to_rows(folder, [answer for answer in answers if not answer.decides], names)
    decided = convert_imported_answers_to_rows(folder, [answer for answer in answers if answer.decides], names)
    said = collect_checked_profiles(folder, taken, names)
    with RunFolder(study / ANNOTATIONS / ".import").hold_folder_lock():  # two at once would miss each other's answers
        before = _list_study_annotator_ids(folder)
        written, replaced = _save_answers_and_decisions(folder, rows, decided, before, replace=replace)
        if said:
            written = [*written, _add_profiles_to_study_file(folder, said)]
    counted = _count_annotator_task_answers(folder, rows)
    return AnswerImportResult(
        files=tuple((path.name, kind) for path, kind in kinds),
        written=tuple(written),
        answers=counted,
        decisions=_count_annotator_task_answers(folder, decided),
        impossible=sum(row.value is None for row in (*rows, *decided)),
        replaced=replaced,
        # Counted again: what annotators said of themselves may have been left out meanwhile.
        left_out=dict(_count_left_out_answers(taken)),
        remarks=(
            *dict.fromkeys(remark for file in taken for remark in file.remarks),
            *_describe_unused_annotator_names(names, answers),
        ),
        new_annotators=tuple(sorted({row.annotator_id for row in rows} - before)),
        open={key: len(folder.select_task_items(key[1])) - n for key, n in counted.items()},
    )


def _count_left_out_answers(taken: Iterable[AnswersReadFromFile]) -> Counter[str]:
    """How many answers of all files were left out, by the reason."""
    return sum((Counter(file.left_out) for file in taken), Counter[str]())


def _add_profiles_to_study_file(folder: StudyFolder, said: Mapping[str, Mapping[str, str]]) -> Path:
    """Keep what annotators said of themselves beside what is there; where that is."""
    held = read_profiles_file(folder)
    for name, profile in said.items():
        held.setdefault(name, {}).update(profile)
    return write_annotator_profiles(folder.path, held)


def _save_answers_and_decisions(
    folder: StudyFolder, rows: Sequence[AnnotationRow], decided: Sequence[AnnotationRow], before: set[str], *,
    replace: bool
) -> tuple[list[Path], int]:  # fmt: skip
    """Keep answers and decisions; where they are, and how many took the place of others. `before` have annotated."""
    people = before | {row.annotator_id for row in rows}
    if both := sorted({row.annotator_id for row in decided} & people):
        raise UsageError(
            f"{both[0]} annotated this study and therefore cannot adjudicate it.",
            mend="Have someone else adjudicate, or use another name: --annotator OLD=NEW.",
        )
    replaced = count_overwritten_rows(folder, rows, replace=replace)
    written = write_rows_by_annotator(folder, rows)
    if decided:
        replaced += store_adjudicator_decisions(folder, decided, replace=replace)
        written = [*written, folder.path / ANSWERS]
    return written, replaced


def _count_annotator_task_answers(folder: StudyFolder, rows: Sequence[AnnotationRow]) -> dict[tuple[str, str], int]:
    tasks = {item.id: item.task for item in folder.items}
    return dict(sorted(Counter((row.annotator_id, tasks[row.item_id]) for row in rows).items()))


def _list_study_annotator_ids(folder: StudyFolder) -> set[str]:
    rows = [
        *(row for held in read_annotation_files(folder).values() for row in held),
        *read_final_answers_from_store(folder),
    ]
    return {row.annotator_id for row in rows}


def _describe_unused_annotator_names(names: AnnotatorNameRules, answers: Sequence[AnswerFromFile]) -> list[str]:
    """Names given for annotators that no file has."""
    seen = {answer.annotator_id for answer in answers}
    notes = [f"no file contains the annotator {old}" for old in names.renamed if old not in seen]
    if names.only and "" not in seen:
        notes.append(f"{names.only} is not used because the files name their annotators")
    return notes
