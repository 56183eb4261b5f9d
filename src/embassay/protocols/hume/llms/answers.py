"""What a language model answered: one file per model and mode, `llm/*.jsonl`, a line per item and run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from embassay.errors import DataError
from embassay.protocols.hume.folder.reading import StudyFolder, read_rows

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
