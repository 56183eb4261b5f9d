"""Writes a study's annotations, or its tasks for another tool. Gold is in none of it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from embassay.data.lines import read_text_lines
from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.protocols.hume.collection import (
    AnswerFromFile,
    AnswersReadFromFile,
    LocationInFile,
    make_annotation_from_file_row,
    read_answers_of_files_and_store,
)
from embassay.protocols.hume.exchange.argilla import USERS, argilla_dataset_settings, argilla_records, argilla_user_id
from embassay.protocols.hume.exchange.label_studio import label_studio_config, label_studio_tasks
from embassay.protocols.hume.options import Form
from embassay.protocols.hume.profiles import Profiles, read_annotator_profiles
from embassay.protocols.hume.results.summary import map_tasks_to_datasets
from embassay.protocols.hume.scoring import MAIN, keep_annotators_by_coverage, people_agreement, score_people_answers
from embassay.protocols.hume.store import Kind, check_annotators_independent
from embassay.protocols.hume.study import (
    AnnotationRow,
    Answers,
    Family,
    Gold,
    StudyFolder,
    StudyTask,
    Who,
    answers_by_annotator,
    read_study,
)
from embassay.protocols.kernel.tables import format_csv_sheet
from embassay.protocols.mteb.protocol import add_language_script
from embassay.protocols.mteb.survey import META, build_model_results_folder_path, format_ascii_json, make_model_meta
from embassay.runs.folder import format_value_as_json, slugify_name, write_file_atomically

COLUMNS = ("item_id", "annotator_id", "value", "ts", "seconds", "kind", "flag", "comment")
_MEND = f"Use the columns {', '.join(COLUMNS)}; item_id and value are required."
_FORMULA = "=+-@\t\r"
"""What a spreadsheet takes for a formula at the beginning of a cell."""
OPEN = "unanswered, with no reason given"
_LARGEST_CELL = 1 << 20


def format_annotations_as_csv(rows: Iterable[AnnotationRow], profiles: Profiles | None = None) -> str:
    """A header and a row per annotation, with the annotator's profile where there are any. Lists are written as JSON;
    texts that a spreadsheet would calculate get an apostrophe in front, which reading takes away."""
    questions = sorted({key for profile in (profiles or {}).values() for key in profile})
    table: list[list[Any]] = [[*COLUMNS, *(f"profile:{key}" for key in questions)]]
    for row in rows:
        profile = (profiles or {}).get(row.annotator_id, {})
        cells = [_format_csv_cell(getattr(row, name)) for name in COLUMNS]
        table.append(cells + [profile.get(key, "") for key in questions])
    return format_csv_sheet(table)


def format_annotations_as_jsonl(rows: Iterable[AnnotationRow], profiles: Profiles | None = None) -> str:
    """A line per annotation, as `annotations/*.jsonl` have them, after a line per profile where there are any."""
    told = (
        format_value_as_json({"annotator_id": name, "profile": dict(profile)}) + "\n"
        for name, profile in sorted((profiles or {}).items())
    )
    return "".join(told) + "".join(row.model_dump_json() + "\n" for row in rows)


def read_csv_answers(path: Path) -> AnswersReadFromFile:
    """The rows of a CSV file, separated by commas, semicolons or tabs. DataError, with the line, for what cannot be
    read."""
    taken = AnswersReadFromFile()
    try:
        # Not read_text, which would change line ends inside cells.
        text = read_bounded_file(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("The file cannot be read as UTF-8", path=path, found=str(error), mend=_MEND) from None
    csv.field_size_limit(_LARGEST_CELL)
    delimiter = _guess_csv_delimiter(text)
    if delimiter != ",":
        between = {";": "semicolons", "\t": "tabs"}[delimiter]
        taken.remarks.append(f"{path.name}: columns are separated by {between}")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_csv_header(header, path, taken)
        for cells in reader:
            at = LocationInFile(path, reader.line_num)
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise at.make_data_error(
                    "the row and the header have different numbers of cells", expected=str(len(header)),
                    found=str(len(cells)), mend=_MEND
                )  # fmt: skip
            _parse_imported_answer_row(dict(zip(header, map(_unescape_formula_cell, cells), strict=True)), at, taken)
    except csv.Error as error:
        raise DataError(
            "The file is not valid CSV", path=path, line=reader.line_num, found=str(error), mend=_MEND
        ) from None
    return taken


def read_jsonl_answers(path: Path) -> AnswersReadFromFile:
    """Read the answers of a JSONL file; DataError, with the line, for what cannot be read."""
    taken = AnswersReadFromFile()
    for number, text in read_text_lines(path):
        at = LocationInFile(path, number)
        if not text.strip():
            continue
        try:
            row = parse_bounded_json(text)
        except ValueError:
            raise at.make_data_error("the line is not valid JSON", found=text[:60], mend=_MEND) from None
        if isinstance(row, dict) and isinstance(row.get("profile"), dict) and "item_id" not in row:
            taken.profiles.append((str(row.get("annotator_id") or ""), row["profile"], at))
            continue
        if not isinstance(row, dict) or "item_id" not in row or "value" not in row:
            raise at.make_data_error("the line is not an annotation", found=text[:60], mend=_MEND)
        _parse_imported_answer_row(row, at, taken)
    return taken


def _parse_imported_answer_row(row: Mapping[str, Any], at: LocationInFile, taken: AnswersReadFromFile) -> None:
    value = row.get("value")
    flag, comment = _read_text_field(row, "flag", at), _read_text_field(row, "comment", at)
    item, annotator = (str(row.get(name) or "").strip() for name in ("item_id", "annotator_id"))
    if not item:
        raise at.make_data_error("the item_id is missing", mend=_MEND)
    value = None if isinstance(value, str) and not value.strip() else value
    if isinstance(value, Mapping) and "draft" in value:
        taken.count_left_out_answer("started but not finished")
        return
    if value is None and not flag and not comment:
        taken.count_left_out_answer(OPEN)
        return
    kind: Who = "simulated" if (said := _read_text_field(row, "kind", at)) == "simulated" else "person"
    if said not in ("", *get_args(Kind)):
        raise at.make_data_error("unknown kind of annotator", expected="person, simulated or adjudicator", found=said)
    ts, seconds = _read_text_field(row, "ts", at), _parse_seconds(row.get("seconds"), at)
    decides = said == "adjudicator"
    taken.answers.append(AnswerFromFile(item, annotator, value, at, ts, seconds, kind, flag, comment, decides))


def _check_csv_header(header: list[str], path: Path, taken: AnswersReadFromFile) -> None:
    missing = [name for name in ("item_id", "value") if name not in header]
    if missing or len(set(header)) < len(header):
        what = f"The column {missing[0]} is missing" if missing else "Two columns have the same name"
        raise DataError(what, path=path, line=1, found=", ".join(header)[:80], mend=_MEND)
    if unused := [name for name in header if name not in COLUMNS]:
        taken.remarks.append(f"{path.name}: unused columns: {', '.join(unused)}")


def _guess_csv_delimiter(text: str) -> str:
    """Guess the delimiter of a CSV file from its header."""
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)


def _format_csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value[:1] in (*_FORMULA, "'") and value else value
    return json.dumps(value)


def _unescape_formula_cell(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and cell[1:2] in (*_FORMULA, "'") and len(cell) > 1 else cell


def _read_text_field(row: Mapping[str, Any], name: str, at: LocationInFile) -> str:
    value = row.get(name) or ""
    if not isinstance(value, str):
        raise at.make_data_error(f"{name} is not a text", found=repr(value)[:60], mend=_MEND)
    return value


def _parse_seconds(value: Any, at: LocationInFile) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise at.make_data_error("seconds must be a number of 0 or more", found=repr(value)[:60], mend=_MEND)
    return number


FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True)
class AnswerExportFiles:
    """The answers that were exported: `files`, and how many of how many annotators."""

    files: tuple[Path, ...]
    answers: int
    annotators: tuple[str, ...]


def export(
    study: Path,
    form: Form,
    out: Path,
    *,
    tasks: Sequence[str] = (),
    answers: bool | None = None,
    profiles: bool = False,
    revision: str = "1",
    exposed: bool = False,
) -> AnswerExportFiles:
    """Write a study's answers to the file `out` (csv, jsonl), its tasks for another tool to the folder `out`, or
    people's scores as MTEB results there (`revision` of the baseline `Human`).

    Tasks go without `answers`, unless these are asked for: annotators work alone. What people said of themselves
    (`profiles`) goes with answers where it is asked for, and nowhere else. Raises UsageError for another format,
    an unknown task, no answers where they are what is asked for, or, unless `exposed`, answers of somebody who may have
    seen another's.
    """
    folder = read_study(study)
    if profiles and form not in ("csv", "jsonl"):
        raise UsageError(f"The format {form} cannot contain profiles.", mend="Use csv or jsonl.")
    if not exposed:
        check_annotators_independent(folder)
    chosen = [folder.task(name) for name in dict.fromkeys(tasks)] or list(folder.study.tasks)
    wanted = {item.id for task in chosen for item in folder.select_task_items(task.name)}
    rows = [row for row in read_answers_of_files_and_store(folder) if row.item_id in wanted]
    if form in ("label-studio", "argilla"):
        rows = rows if answers else []
        files = _write_tool_files(folder, form, chosen, rows, out)
        return AnswerExportFiles(tuple(files), len(rows), _list_annotator_ids_of_rows(rows))
    if not rows:
        raise UsageError(f"Nobody has answered {study} yet.", mend="Serve the study, or import annotations.")
    if form == "mteb":
        return AnswerExportFiles(
            tuple(write_mteb_human_results(folder, chosen, rows, out, revision)),
            len(rows),
            _list_annotator_ids_of_rows(rows),
        )
    if form not in ("csv", "jsonl"):
        raise UsageError(f"Unknown format: {form!r}.", mend=f"Use one of {', '.join(FORMS)}.")
    if out.is_dir():
        raise UsageError(f"{out} is a folder.", mend=f"Name a file: {out / f'annotations.{form}'}.")
    said = _collect_annotator_profiles(folder, rows) if profiles else None
    write_file_atomically(
        out, format_annotations_as_csv(rows, said) if form == "csv" else format_annotations_as_jsonl(rows, said)
    )
    return AnswerExportFiles((out,), len(rows), _list_annotator_ids_of_rows(rows))


def _collect_annotator_profiles(folder: StudyFolder, rows: Sequence[AnnotationRow]) -> Profiles:
    """Collect the profiles of the annotators whose answers are written."""
    if not folder.study.profile:
        raise UsageError("The study asks no questions about the annotators.", mend="Leave --profiles out.")
    names = set(_list_annotator_ids_of_rows(rows))
    return {name: profile for name, profile in read_annotator_profiles(folder).items() if name in names}


def _write_tool_files(
    folder: StudyFolder, form: Form, tasks: Sequence[StudyTask], rows: Sequence[AnnotationRow], out: Path
) -> list[Path]:
    if out.is_file():
        raise UsageError(f"{out} is a file.", mend="Choose a folder, because each task gets its own files.")
    files: dict[str, str] = {}
    for task in tasks:
        files |= (_render_label_studio_files if form == "label-studio" else _render_argilla_files)(folder, task, rows)
    if form == "argilla" and rows:
        users = {argilla_user_id(name): name for name in _list_annotator_ids_of_rows(rows)}
        files[USERS] = format_value_as_json(users, indent=1) + "\n"
    for name, text in files.items():
        write_file_atomically(out / name, text)
    return [out / name for name in files]


def _render_label_studio_files(
    folder: StudyFolder, task: StudyTask, rows: Sequence[AnnotationRow]
) -> Mapping[str, str]:
    tasks = label_studio_tasks(task, folder.select_task_items(task.name), rows)
    return {
        f"{task.name}.config.xml": label_studio_config(task),
        f"{task.name}.tasks.json": format_value_as_json(tasks, indent=1) + "\n",
    }


def _render_argilla_files(folder: StudyFolder, task: StudyTask, rows: Sequence[AnnotationRow]) -> Mapping[str, str]:
    items = folder.select_task_items(task.name)
    records = argilla_records(task, items, rows)
    return {
        f"{task.name}.settings.json": format_value_as_json(argilla_dataset_settings(task, items), indent=1) + "\n",
        f"{task.name}.records.json": format_value_as_json(records, indent=1) + "\n",
    }


def _list_annotator_ids_of_rows(rows: Sequence[AnnotationRow]) -> tuple[str, ...]:
    return tuple(sorted({row.annotator_id for row in rows}))


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
    }
}  # fmt: skip
"""Our names of the others -> the published ones."""


def make_mteb_human_entry(task: StudyTask, gold: Gold, rows: Sequence[AnnotationRow], subset: str) -> Plain | None:
    """The entry of a task, None where nobody answered it: all measures by the paper's rule, `scores_per_experiment` for
    each annotator in the order of their ids, and `agreement`, for one annotator without a value.

    Source: spec hume 4 ("result file shape"); the published files give the two lists only for a first language.
    """
    everybody = answers_by_annotator(task.spec, gold, map(make_annotation_from_file_row, rows))
    answers = keep_annotators_by_coverage(everybody)
    if not answers:
        return None
    people = score_people_answers(task.spec, gold, answers)
    main = MAIN[task.family]
    return {
        **_rename_measures_for_mteb(people.scores("paper")),
        "main_score": people.score("paper"),
        "n_items": people.items,
        "scores_per_experiment": [
            {**_rename_measures_for_mteb(annotator.scores), "main_score": annotator.scores[main], "annotator": name}
            for name, annotator in people.annotators.items()
        ],
        "agreement": _make_agreement_in_mteb_format(task.family, answers),
        "simulated": any(row.kind == "simulated" for row in rows),
        "hf_subset": subset,
        "languages": [add_language_script(task.lang)],
    }


def sum_annotation_seconds(rows: Sequence[AnnotationRow]) -> float | None:
    """How long people took altogether, None where nobody's time is known."""
    known = [row.seconds for row in rows if row.seconds is not None]
    return math.fsum(known) if known else None


def _rename_measures_for_mteb(scores: Mapping[str, float]) -> Plain:
    return {_MEASURES.get(name, name): value for name, value in scores.items()}


def _make_agreement_in_mteb_format(family: Family, answers: Answers) -> Plain:
    agreement = people_agreement(family, answers)
    extras = {name: _replace_nan_by_none(agreement.extras.get(ours)) for ours, name in _EXTRAS[family].items()}
    value = _replace_nan_by_none(agreement.value)
    return {
        "metric": _METRIC[family],
        "value": value,
        "interpretation": agreement.band,
        "n_annotators": agreement.annotators,
        "n_items": agreement.items,
        "total_annotations": agreement.annotations,
        # The published files of reranking have the value under this name only.
        **({"mean_spearman": value} if family == "reranking" else {}),
        **(extras if agreement.extras else {}),
        **({"reason": agreement.reason} if agreement.reason else {}),
    }


def _replace_nan_by_none(value: float | None) -> float | int | None:
    if value is None or math.isnan(value):
        return None
    return value


MODEL = "baseline/Human"


def write_mteb_human_results(
    folder: StudyFolder, tasks: Sequence[StudyTask], rows: Sequence[AnnotationRow], out: Path, revision: str = "1"
) -> list[Path]:
    """Write `baseline__Human/REVISION/Task.json` of every dataset that somebody annotated, and `model_meta.json`, below
    `out`; return the files. Raises UsageError for a revision that is no plain name."""
    if slugify_name(revision) != revision or not revision:
        raise UsageError(f"The revision is {revision!r}.", mend="Use only letters, digits, dots and dashes.")
    place = out / build_model_results_folder_path(MODEL, revision)
    files: dict[Path, Plain] = {}
    for dataset, of_dataset in _group_tasks_by_dataset(folder, tasks).items():
        if (result := _make_mteb_result(folder, dataset, of_dataset, rows)) is not None:
            files[place / f"{slugify_name(dataset)}.json"] = result
    files[place / META] = make_model_meta(MODEL, revision, [add_language_script(task.lang) for task in tasks])
    for path, document in files.items():
        write_file_atomically(path, format_ascii_json(document, indent=2) + "\n")
    return list(files)


def _group_tasks_by_dataset(folder: StudyFolder, tasks: Sequence[StudyTask]) -> Mapping[str, list[StudyTask]]:
    names = map_tasks_to_datasets(folder.study.tasks)
    groups: dict[str, list[StudyTask]] = {}
    for task in tasks:
        groups.setdefault(names[task.name].dataset, []).append(task)
    return groups


def _make_mteb_result(
    folder: StudyFolder, dataset: str, tasks: Sequence[StudyTask], rows: Sequence[AnnotationRow]
) -> Plain | None:
    every = {task.name: {item.id for item in folder.select_task_items(task.name)} for task in tasks}
    by_name = {name: [row for row in rows if row.item_id in items] for name, items in every.items()}
    entries = [
        make_mteb_human_entry(
            task, folder.gold(task.name), by_name[task.name], "default" if len(tasks) == 1 else task.lang
        )
        for task in tasks
    ]
    known = [entry for entry in entries if entry is not None]
    if not known:
        return None
    return {
        "dataset_revision": folder.study.content,
        "task_name": dataset,
        "mteb_version": None,
        "scores": {"test": known},
        "evaluation_time": sum_annotation_seconds([row for rows_of in by_name.values() for row in rows_of]),
        "kg_co2_emissions": None,
    }
