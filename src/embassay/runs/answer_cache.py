"""Answers of language models on disk, shared by all runs and processes of a user: one SQLite file.

An answer is kept under everything it depends on and the number of the draw, so that repeats of a question are
independent draws, and each is paid for once. It carries a checksum that is verified on every read; a damaged
row is dropped and its question is asked again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from embassay.contracts import Completion, Message, Sampling, Usage
from embassay.runs.store import Store, seal

__all__ = ["AnswerCache", "AnswersInfo", "answer_key"]

_ANSWERS = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB NOT NULL UNIQUE,
    model TEXT NOT NULL,
    checksum BLOB NOT NULL,
    answer BLOB NOT NULL
)
"""


@dataclass(frozen=True)
class AnswersInfo:
    """What a cache holds: `bytes` on disk, `entries` (answers), and the answers of each model identity."""

    path: Path
    bytes: int
    entries: int
    models: Mapping[str, int]


class AnswerCache(Store):
    """Answers by key. Safe to share between threads, and between processes that open it each."""

    title = "answer cache"
    file = "answers.sqlite"
    tables = (_ANSWERS,)
    main = "answers"
    owner = "model"

    def read(self, key: bytes) -> Completion | None:
        """The answer kept under `key`, without its parsed object; None when there is none, or a damaged one."""
        row = self._first("SELECT checksum, CAST(answer AS BLOB) FROM answers WHERE key = ?", key)
        if row is None:
            return None
        checksum, content = row
        if checksum != seal(key, content):
            self.drop(key)
            return None
        try:
            return _completion(json.loads(content))
        except (
            ValueError,
            LookupError,
            TypeError,
            RecursionError,
        ):  # sealed by something that is not this class
            self.drop(key)
            return None

    def write(self, key: bytes, model: str, answer: Completion) -> None:
        """Keep `answer` of the model with this identity; a key that is already there keeps what it has."""
        kept = {
            "text": answer.text,
            "model": answer.model,
            "finish": answer.finish,
            "usage": asdict(answer.usage),
        }
        content = json.dumps(kept).encode()
        self._change(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", key, model, seal(key, content), content
        )

    def info(self) -> AnswersInfo:
        """What the cache holds now; zeros where it cannot be read."""
        rows = self._all("SELECT model, COUNT(*) FROM answers GROUP BY model ORDER BY model")
        return AnswersInfo(self.path, self._size(), sum(n for _, n in rows), dict(rows))


def _completion(kept: Any) -> Completion:
    """The answer that was written; LookupError, TypeError or ValueError for anything else."""
    words = kept["text"], kept["model"], kept["finish"]
    if not all(isinstance(word, str) for word in words):
        raise TypeError("not an answer")
    return Completion(words[0], None, Usage(**kept["usage"]), *words[1:])


def answer_key(
    identity: str, messages: Sequence[Message], sampling: Sampling, schema: Any, attempt: int
) -> bytes:
    """32 bytes that name a draw: a hash of the model, the sampling, the schema (a pydantic model class), the
    messages, and the number of the draw."""
    parts = [
        identity,
        asdict(sampling),
        None if schema is None else schema.model_json_schema(),
        [[message.role, message.content] for message in messages],
        attempt,
    ]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=32).digest()
