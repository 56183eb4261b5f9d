"""What a language model answered: one file per model and mode, `llm/*.jsonl`, a line per item and run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from embassay.errors import DataError
from embassay.protocols.hume.folder.files import StudyFolder, read_rows
from embassay.runs.files import slug, write_atomic

LLM = "llm"
Mode = Literal["ranking", "binary"]
Status = Literal["ok", "completed", "unparsed", "failed"]
"""ok: read at once or on the second try; completed: missing documents were added to a ranking in display order;
unparsed: no answer could be read; failed: the call failed for good."""


class LlmRow(BaseModel):
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
class LlmAnswers:
    """All answers of one model in one mode; `prompt` is the hash of the prompts' version."""

    model: str
    mode: Mode
    rows: tuple[LlmRow, ...]

    def of(self, task: str) -> tuple[LlmRow, ...]:
        """Those to the items of a task."""
        return tuple(row for row in self.rows if row.task == task)


def read_llm_answers(folder: StudyFolder, files: Sequence[Path] = ()) -> tuple[LlmAnswers, ...]:
    """The answers of all models that annotated the study, by the names of their files.

    Raises DataError for a file of several models or modes, and for an item that the study has not.
    """
    known = {item.id for item in folder.items}
    found = []
    for path in files or sorted((folder.path / LLM).glob("*.jsonl")):
        rows = []
        for line, row in read_rows(path, LlmRow):
            if row.item_id not in known:
                raise DataError(
                    f"The answer to {row.item_id} is to no item of the study", path=path, line=line,
                    mend="Give answers to this study.",
                )  # fmt: skip
            rows.append(row)
        kinds = {(row.model, row.mode) for row in rows}
        if len(kinds) > 1:
            raise DataError("The file holds answers of several models or modes", path=path, mend="Split it.")
        if rows:
            found.append(LlmAnswers(rows[0].model, rows[0].mode, tuple(rows)))
    return tuple(found)


_MEND = "Delete the file, or ask anew with --replace."
Key = tuple[str, int]
"""Item and run."""


def answer_file(study: Path, model: str, mode: Mode) -> Path:
    """Where the answers of a model are."""
    return study / LLM / f"{slug(model)}.{mode}.jsonl"


class AnswerFile:
    """The rows of one model in one mode. A line that a crash has cut is left out, and its question is asked again."""

    def __init__(self, path: Path, folder: StudyFolder, *, fresh: bool = False) -> None:
        self.path = path
        self._order = {item.id: place for place, item in enumerate(folder.items)}
        if fresh:
            path.unlink(missing_ok=True)
        self._cut = 0
        self.rows: dict[Key, LlmRow] = self._read()

    def answered(self) -> Mapping[Key, LlmRow]:
        """What need not be asked: all but the calls that failed."""
        return {key: row for key, row in self.rows.items() if row.status != "failed"}

    def append(self, row: LlmRow) -> None:
        """Keep a row at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_off()
        line = (row.model_dump_json() + "\n").encode()
        # In one write: a killed process leaves whole lines.
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)
        self.rows[row.item_id, row.run] = row

    def put_in_order(self) -> None:
        """Write all rows by run and by the order of the study's items, each once."""
        rows = sorted(self.rows.values(), key=lambda row: (row.run, self._order[row.item_id]))
        if rows:
            write_atomic(self.path, "".join(row.model_dump_json() + "\n" for row in rows))

    def _read(self) -> dict[Key, LlmRow]:
        if not self.path.exists():
            return {}
        lines = self.path.read_bytes().split(b"\n")
        rows: dict[Key, LlmRow] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = LlmRow.model_validate_json(line)
            except ValidationError:
                if number == len(lines):
                    # No line end behind it: a crash cut it.
                    continue
                raise DataError("The line is no answer", path=self.path, line=number, mend=_MEND) from None
            if row.item_id not in self._order:
                raise DataError(
                    f"The answer to {row.item_id} is to no item of the study", path=self.path, line=number,
                    mend=_MEND,
                )  # fmt: skip
            rows[row.item_id, row.run] = row
        self._cut = len(lines[-1])
        return rows

    def _cut_off(self) -> None:
        """Take away what follows the last whole line, so that the next one begins a line."""
        if self._cut:
            os.truncate(self.path, self.path.stat().st_size - self._cut)
            self._cut = 0
