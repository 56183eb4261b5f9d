"""Writes a study's annotations, or its tasks for another tool. Gold is in none of it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from embassay.data.delimited import text_lines
from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded
from embassay.protocols.hume.answers import check_independent
from embassay.protocols.hume.exchange.argilla import USERS, argilla_records, argilla_settings, user_id
from embassay.protocols.hume.exchange.entries import Incoming, Place, Taken
from embassay.protocols.hume.exchange.label_studio import label_studio_tasks, labelling_config
from embassay.protocols.hume.folder.collection import all_rows
from embassay.protocols.hume.folder.files import AnnotationRow, StudyFolder, Task, read_study
from embassay.protocols.hume.study import Who
from embassay.runs.folder import to_json, write_atomic

COLUMNS = ("item_id", "annotator_id", "value", "ts", "seconds", "kind", "flag", "comment")
_MEND = f"Give the columns {', '.join(COLUMNS)}; item_id and value are needed."
_FORMULA = "=+-@\t\r"
"""What a spreadsheet takes for a formula at the beginning of a cell."""
OPEN = "not answered, without a reason"
_LARGEST_CELL = 1 << 20


def as_csv(rows: Iterable[AnnotationRow]) -> str:
    """A header and a row per annotation. Lists are written as JSON; texts that a spreadsheet would calculate get an
    apostrophe in front, which reading takes away."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in COLUMNS])
    return text.getvalue()


def as_jsonl(rows: Iterable[AnnotationRow]) -> str:
    """A line per annotation, as `annotations/*.jsonl` have them."""
    return "".join(row.model_dump_json() + "\n" for row in rows)


def read_csv(path: Path) -> Taken:
    """The rows of a CSV file, separated by commas, semicolons or tabs. DataError, with the line, for what cannot be
    read."""
    taken = Taken()
    try:
        # Not read_text, which would change line ends inside cells.
        text = read_bounded(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("The file cannot be read as UTF-8", path=path, found=str(error), mend=_MEND) from None
    csv.field_size_limit(_LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(header, path, taken)
        for cells in reader:
            at = Place(path, reader.line_num)
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise at.fault(
                    "the row has another number of cells than the header", expected=str(len(header)),
                    found=str(len(cells)), mend=_MEND,
                )  # fmt: skip
            _take(dict(zip(header, map(_plain, cells), strict=True)), at, taken)
    except csv.Error as error:
        raise DataError(
            "The file is no CSV", path=path, line=reader.line_num, found=str(error), mend=_MEND
        ) from None
    return taken


def read_jsonl(path: Path) -> Taken:
    """The lines of a JSONL file, also that of the offline page. DataError, with the line, for what cannot be read."""
    taken = Taken()
    for number, text in text_lines(path):
        at = Place(path, number)
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            raise at.fault("the line is no JSON", found=text[:60], mend=_MEND) from None
        if not isinstance(row, dict) or "item_id" not in row or "value" not in row:
            raise at.fault("the line is no annotation", found=text[:60], mend=_MEND)
        _take(row, at, taken)
    return taken


def _take(row: Mapping[str, Any], at: Place, taken: Taken) -> None:
    value = row.get("value")
    flag, comment = _text(row, "flag", at), _text(row, "comment", at)
    item, annotator = (str(row.get(name) or "").strip() for name in ("item_id", "annotator_id"))
    if not item:
        raise at.fault("there is no item_id", mend=_MEND)
    value = None if isinstance(value, str) and not value.strip() else value
    if isinstance(value, Mapping) and "draft" in value:
        taken.leave_out("begun and not finished")
        return
    if value is None and not flag and not comment:
        taken.leave_out(OPEN)
        return
    kind: Who = "simulated" if (said := _text(row, "kind", at)) == "simulated" else "person"
    if said not in ("", *get_args(Who)):
        raise at.fault("the kind of annotator is not known", expected="person or simulated", found=said)
    ts, seconds = _text(row, "ts", at), _seconds(row.get("seconds"), at)
    taken.answers.append(Incoming(item, annotator, value, at, ts, seconds, kind, flag, comment))


def _check_header(header: list[str], path: Path, taken: Taken) -> None:
    missing = [name for name in ("item_id", "value") if name not in header]
    if missing or len(set(header)) < len(header):
        what = f"There is no column {missing[0]}" if missing else "Two columns have one name"
        raise DataError(what, path=path, line=1, found=", ".join(header)[:80], mend=_MEND)
    if unused := [name for name in header if name not in COLUMNS]:
        taken.remarks.append(f"{path.name}: columns without a use: {', '.join(unused)}")


def _delimiter(text: str) -> str:
    """The one of the header: many countries' spreadsheets write semicolons."""
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value[:1] in (*_FORMULA, "'") and value else value
    return json.dumps(value)


def _plain(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and cell[1:2] in (*_FORMULA, "'") and len(cell) > 1 else cell


def _text(row: Mapping[str, Any], name: str, at: Place) -> str:
    value = row.get(name) or ""
    if not isinstance(value, str):
        raise at.fault(f"{name} is no text", found=repr(value)[:60], mend=_MEND)
    return value


def _seconds(value: Any, at: Place) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise at.fault("seconds are no number from 0", found=repr(value)[:60], mend=_MEND)
    return number


Form = Literal["csv", "jsonl", "label-studio", "argilla", "mteb"]
FORMS: tuple[Form, ...] = ("csv", "jsonl", "label-studio", "argilla", "mteb")


@dataclass(frozen=True)
class Exported:
    """What was written: `files`, with so many answers of so many annotators in them."""

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
    revision: str = "1",
    exposed: bool = False,
) -> Exported:
    """Write a study's answers to the file `out` (csv, jsonl), its tasks for another tool to the folder `out`, or
    people's scores as MTEB results there (`revision` of the baseline `Human`).

    Tasks go without `answers`, unless these are asked for: annotators work alone. Raises UsageError for another format,
    an unknown task, no answers where they are what is asked for, or, unless `exposed`, answers of somebody who may have
    seen another's.
    """
    folder = read_study(study)
    if not exposed:
        check_independent(folder)
    chosen = [folder.task(name) for name in dict.fromkeys(tasks)] or list(folder.study.tasks)
    wanted = {item.id for task in chosen for item in folder.items_of(task.name)}
    rows = [row for row in all_rows(folder) if row.item_id in wanted]
    if form in ("label-studio", "argilla"):
        rows = rows if answers else []
        files = _for_tool(folder, form, chosen, rows, out)
        return Exported(tuple(files), len(rows), _who(rows))
    if not rows:
        raise UsageError(f"Nobody has answered {study} yet.", mend="Serve it, or import annotations.")
    if form == "mteb":
        from embassay.protocols.hume.exchange.mteb import write_mteb

        return Exported(tuple(write_mteb(folder, chosen, rows, out, revision)), len(rows), _who(rows))
    if form not in ("csv", "jsonl"):
        raise UsageError(f"There is no format {form!r}.", mend=f"Use one of {', '.join(FORMS)}.")
    if out.is_dir():
        raise UsageError(f"{out} is a folder.", mend=f"Name a file: {out / f'annotations.{form}'}.")
    write_atomic(out, as_csv(rows) if form == "csv" else as_jsonl(rows))
    return Exported((out,), len(rows), _who(rows))


def _for_tool(
    folder: StudyFolder, form: Form, tasks: Sequence[Task], rows: Sequence[AnnotationRow], out: Path
) -> list[Path]:
    if out.is_file():
        raise UsageError(f"{out} is a file.", mend="Name a folder: each task gets files of its own.")
    files: dict[str, str] = {}
    for task in tasks:
        files |= (_label_studio if form == "label-studio" else _argilla)(folder, task, rows)
    if form == "argilla" and rows:
        users = {user_id(name): name for name in _who(rows)}
        files[USERS] = to_json(users, indent=1) + "\n"
    for name, text in files.items():
        write_atomic(out / name, text)
    return [out / name for name in files]


def _label_studio(folder: StudyFolder, task: Task, rows: Sequence[AnnotationRow]) -> Mapping[str, str]:
    tasks = label_studio_tasks(task, folder.items_of(task.name), rows)
    return {
        f"{task.name}.config.xml": labelling_config(task),
        f"{task.name}.tasks.json": to_json(tasks, indent=1) + "\n",
    }


def _argilla(folder: StudyFolder, task: Task, rows: Sequence[AnnotationRow]) -> Mapping[str, str]:
    items = folder.items_of(task.name)
    records = argilla_records(task, items, rows)
    return {
        f"{task.name}.settings.json": to_json(argilla_settings(task, items), indent=1) + "\n",
        f"{task.name}.records.json": to_json(records, indent=1) + "\n",
    }


def _who(rows: Sequence[AnnotationRow]) -> tuple[str, ...]:
    return tuple(sorted({row.annotator_id for row in rows}))
