"""Takes annotations from files into a study: everything is checked before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.exchange.argilla.reading import read_argilla
from embassay.protocols.hume.exchange.guess import guessed
from embassay.protocols.hume.exchange.incoming import FORMATS, Format, Incoming, Taken
from embassay.protocols.hume.exchange.intake import Names, check_new, checked_rows, write_rows
from embassay.protocols.hume.exchange.label_studio.reading import read_label_studio
from embassay.protocols.hume.exchange.tables import read_csv, read_jsonl
from embassay.protocols.hume.folder.reading import ANNOTATIONS, StudyFolder, read_study
from embassay.runs.folder import RunFolder

_READERS: Mapping[Format, Callable[[Path, StudyFolder], Taken]] = {
    "csv": lambda path, _: read_csv(path),
    "jsonl": lambda path, _: read_jsonl(path),
    "label-studio": read_label_studio,
    "argilla": read_argilla,
}


@dataclass(frozen=True)
class Imported:
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
        }  # fmt: skip


def import_files(
    study: Path,
    files: Sequence[Path],
    *,
    form: Format | None = None,
    annotator: Sequence[str] = (),
    replace: bool = False,
) -> Imported:
    """Take the annotations of `files` into the study's `annotations/`, a file for each annotator.

    `form` is their format, by default guessed for each; `annotator` names whoever a file does not (`ann`), or gives
    names in place of a file's (`3=ann`). Nothing is written unless all can be: DataError for an unknown item, a value
    that the task does not know, an answer twice or of nobody, with file and line; UsageError for answers that are there
    already, unless `replace` puts these in their place.
    """
    if form is not None and form not in FORMATS:
        raise UsageError(f"There is no format {form!r}.", mend=f"Use one of {', '.join(FORMATS)}.")
    if not files:
        raise UsageError("No file is named.", mend="Name the files with annotations.")
    folder, names = read_study(study), Names.parse(annotator)
    kinds = [(path, form or guessed(path)) for path in files]
    taken = [_READERS[kind](path, folder) for path, kind in kinds]
    answers = [one for each in taken for one in each.answers]
    left_out = sum((Counter(each.left_out) for each in taken), Counter[str]())
    if not answers:
        why = "; ".join(f"{count} {what}" for what, count in left_out.items())
        raise DataError(
            "There is no answer to take", path=files[0], found=why, mend="Give files with answers."
        )
    rows = checked_rows(folder, answers, names)
    with RunFolder(study / ANNOTATIONS / ".import").locked():
        before = _annotators(folder)
        replaced = check_new(folder, rows, replace=replace)
        written = write_rows(folder, rows)
    tasks = {item.id: item.task for item in folder.items}
    counted = Counter((row.annotator_id, tasks[row.item_id]) for row in rows)
    return Imported(
        files=tuple((path.name, kind) for path, kind in kinds),
        written=tuple(written),
        answers=dict(sorted(counted.items())),
        impossible=sum(row.value is None for row in rows),
        replaced=replaced,
        left_out=dict(left_out),
        remarks=(
            *dict.fromkeys(remark for each in taken for remark in each.remarks),
            *_unused(names, answers),
        ),
        new_annotators=tuple(sorted({row.annotator_id for row in rows} - before)),
        open={key: len(folder.items_of(key[1])) - n for key, n in counted.items()},
    )


def _annotators(folder: StudyFolder) -> set[str]:
    from embassay.protocols.hume.exchange.held import filed, served

    rows = [*(row for held in filed(folder).values() for row in held), *served(folder)]
    return {row.annotator_id for row in rows}


def _unused(names: Names, answers: Sequence[Incoming]) -> list[str]:
    """Names given for annotators that no file has."""
    seen = {one.annotator_id for one in answers}
    found = [f"no file has an annotator {old}" for old in names.renamed if old not in seen]
    if names.only and "" not in seen:
        found.append(f"{names.only} is not used: the files say who answered")
    return found
