"""The store of a study's answers: people, their answers exactly once with their history, and what is finished."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.answers import clock
from embassay.protocols.hume.answers.database import Database, Row, Transaction
from embassay.protocols.hume.answers.records import Annotator, Change, Draft, Refused, Saved
from embassay.protocols.hume.folder import StudyFile
from embassay.protocols.hume.study import Who

LEASE_SECONDS = 30
"""How long a tab that is silent keeps the right to write."""
_NAME = re.compile(r"\w[\w.@-]{0,79}")
_AS: Mapping[Who, str] = {"person": "a person", "simulated": "a script"}
_ANSWER = "item, value, flag, comment, seconds, paused, seq, saved_at"


class AnswerStore:
    """The answers to one study in `database`. Opening it writes down which study that is, or only looks where it is
    `read_only`.

    Raises UsageError where the database holds answers to another study, or under other guidelines.
    """

    def __init__(self, database: Database, study: StudyFile, *, read_only: bool = False) -> None:
        self.database = database
        try:
            self._bind(study, read_only)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def add_annotator(self, annotator: str, kind: Who = "person") -> bool:
        """Let somebody answer; whether they are new. An annotator stays what they were at first.

        Raises UsageError for a name that cannot stand in files, and for a person who was simulated, or the reverse.
        """
        if not _NAME.fullmatch(annotator):
            raise UsageError(
                f"{annotator!r} cannot be the name of an annotator.",
                mend="Use up to 80 letters, digits, '_', '-', '.' or '@', and begin with a letter or digit.",
            )
        made = self.database.write(
            lambda do: do.run(
                "INSERT INTO annotators VALUES (?, ?, NULL, '{}', ?, '', 0) ON CONFLICT (id) DO NOTHING",
                annotator, kind, clock.now(),
            )
        )  # fmt: skip
        held = self.annotator(annotator)
        if held is not None and held.kind != kind:
            raise UsageError(
                f"{annotator} is {_AS[held.kind]} in this study already.",
                mend="Give another name: what is a script's and what a person's is never mixed.",
            )
        return bool(made)

    def annotators(self) -> tuple[Annotator, ...]:
        """All who may answer, by id."""
        rows = self.database.read(
            lambda do: do.all("SELECT id, kind, name, settings FROM annotators ORDER BY id")
        )
        # In the order of characters, whatever the database's language.
        return tuple(sorted((_annotator(row) for row in rows), key=lambda one: one.id))

    def annotator(self, annotator: str) -> Annotator | None:
        """One of them."""
        row = self.database.read(
            lambda do: do.first("SELECT id, kind, name, settings FROM annotators WHERE id = ?", annotator)
        )
        return _annotator(row) if row else None

    def set_profile(self, annotator: str, name: str | None, settings: Mapping[str, Any]) -> None:
        """Keep the name somebody gave themselves and how their page is set."""
        text = json.dumps(dict(settings), ensure_ascii=False, sort_keys=True)
        self.database.write(
            lambda do: do.run(
                "UPDATE annotators SET name = ?, settings = ? WHERE id = ?", name, text, annotator
            )
        )

    def save(self, annotator: str, task: str, draft: Draft) -> Saved | Refused:
        """Store an answer exactly once: the same one with the same `seq` again is acknowledged and changes nothing."""
        return self.database.write(lambda do: _save(do, annotator, task, draft))

    def take_lease(self, annotator: str, tab: str, *, take: bool) -> bool:
        """Whether `tab` may write: it does already, no other does, or it shall `take` the right from one that does."""
        return self.database.write(lambda do: _may_write(do, annotator, tab, take=take))

    def finish(self, annotator: str, task: str, items: Sequence[str]) -> tuple[str, ...]:
        """Freeze the answers to a task's `items`, if all are decided; those that are open, none when it is frozen."""
        return self.database.write(lambda do: _finish(do, annotator, task, items))

    def answers(self, annotator: str) -> dict[str, Saved]:
        """What somebody answered, by item; also what was taken back."""
        rows = self.database.read(
            lambda do: do.all(f"SELECT {_ANSWER} FROM answers WHERE annotator = ?", annotator)
        )
        return {one.item_id: one for one in sorted(map(_saved, rows), key=lambda one: one.item_id)}

    def all_answers(self) -> dict[str, dict[str, Saved]]:
        """Everybody's, by annotator and item."""
        rows = self.database.read(lambda do: do.all(f"SELECT annotator, {_ANSWER} FROM answers"))
        found: dict[str, dict[str, Saved]] = {}
        for annotator, *row in sorted(rows, key=lambda row: (row[0], row[1])):
            found.setdefault(annotator, {})[row[0]] = _saved(row)
        return found

    def changes(self, annotator: str) -> tuple[Change, ...]:
        """The history of somebody's answers, oldest first."""
        rows = self.database.read(
            lambda do: do.all(f"SELECT {_ANSWER}, tab FROM changes WHERE annotator = ?", annotator)
        )
        found = [Change(annotator, _saved(row[:-1]), row[-1]) for row in rows]
        return tuple(sorted(found, key=lambda one: (one.answer.seq, one.answer.saved_at, one.answer.item_id)))

    def last_seq(self, annotator: str) -> int:
        """The highest `seq` of anything that was stored, 0 before the first."""
        row = self.database.read(
            lambda do: do.first("SELECT MAX(seq) FROM changes WHERE annotator = ?", annotator)
        )
        return int(row[0]) if row and row[0] is not None else 0

    def finished(self) -> dict[str, dict[str, str]]:
        """When each task was finished, by annotator and task."""
        rows = self.database.read(lambda do: do.all("SELECT annotator, task, finished_at FROM finished"))
        found: dict[str, dict[str, str]] = {}
        for annotator, task, at in sorted(rows):
            found.setdefault(annotator, {})[task] = at
        return found

    def _bind(self, study: StudyFile, read_only: bool) -> None:
        facts = {
            "version": "1", "name": study.name, "content": study.content, "guidelines": study.guidelines,
            "guidelines_version": study.guidelines_version,
        }  # fmt: skip
        if not read_only and not self._held():
            self.database.write(lambda do: _write_facts(do, facts))
        _check(self._held(), facts, self.database.place)

    def _held(self) -> dict[str, str]:
        rows = self.database.read(lambda do: do.all("SELECT key, value FROM study"))
        return dict(rows)


def _check(held: Mapping[str, str], facts: Mapping[str, str], place: str) -> None:
    if held.get("version") != facts["version"]:
        raise UsageError(
            f"{place} was written by another version of the store.", mend="Use the version that wrote it."
        )
    if held.get("content") != facts["content"]:
        raise UsageError(
            f"{place} holds the answers to other items, those of the study {held.get('name')!r}.",
            mend="Serve the study they were given to, or this one with another database.",
        )
    if (held.get("guidelines"), held.get("guidelines_version")) != (
        facts["guidelines"], facts["guidelines_version"],
    ):  # fmt: skip
        raise UsageError(
            f"{place} holds answers under guidelines {held.get('guidelines_version')!r}, and those of the study are "
            f"{facts['guidelines_version']!r} now.",
            mend="Guidelines are frozen once people answer: put the old ones back, or sample into a new folder.",
        )


def _write_facts(do: Transaction, facts: Mapping[str, str]) -> None:
    for key, value in facts.items():
        do.run("INSERT INTO study VALUES (?, ?) ON CONFLICT (key) DO NOTHING", key, value)


def _save(do: Transaction, annotator: str, task: str, draft: Draft) -> Saved | Refused:
    free = _may_write(do, annotator, draft.tab, take=False)
    row = do.first(
        f"SELECT {_ANSWER} FROM answers WHERE annotator = ? AND item = ?", annotator, draft.item_id
    )
    held = _saved(row) if row else None
    if held and held.seq == draft.seq and _same(held, draft):
        return held
    if do.first("SELECT 1 FROM finished WHERE annotator = ? AND task = ?", annotator, task):
        return Refused("frozen", held)
    if held and held.seq >= draft.seq:
        return Refused("older", held)
    return _stored(do, annotator, draft) if free else Refused("another_tab", held)


def _same(held: Saved, draft: Draft) -> bool:
    return (held.value, held.flag, held.comment) == (draft.value, draft.flag, draft.comment)


def _stored(do: Transaction, annotator: str, draft: Draft) -> Saved:
    saved = Saved(
        draft.item_id,
        draft.value,
        draft.flag,
        draft.comment,
        draft.seconds,
        draft.paused,
        draft.seq,
        clock.now(),
    )
    value = None if saved.value is None else json.dumps(saved.value, ensure_ascii=False, allow_nan=False)
    row = (
        annotator, saved.item_id, value, saved.flag, saved.comment, saved.seconds, saved.paused, saved.seq,
        saved.saved_at,
    )  # fmt: skip
    do.run("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *row, draft.tab)
    do.run(
        """INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (annotator, item) DO UPDATE SET
        value = excluded.value, flag = excluded.flag, comment = excluded.comment, seconds = excluded.seconds,
        paused = excluded.paused, seq = excluded.seq, saved_at = excluded.saved_at""",
        *row,
    )
    return saved


def _may_write(do: Transaction, annotator: str, tab: str, *, take: bool) -> bool:
    """Whether the tab has the lease afterwards. The update comes first: it locks the annotator's row, so that all that
    one annotator changes happens in turn."""
    at = clock.seconds()
    held = "1 = 1" if take else "(tab = ? OR tab_until < ?)"
    values = () if take else (tab, at)
    return bool(
        do.run(
            f"UPDATE annotators SET tab = ?, tab_until = ? WHERE id = ? AND {held}",
            tab, at + LEASE_SECONDS, annotator, *values,
        )
    )  # fmt: skip


def _finish(do: Transaction, annotator: str, task: str, items: Sequence[str]) -> tuple[str, ...]:
    do.run("UPDATE annotators SET kind = kind WHERE id = ?", annotator)
    rows = do.all(f"SELECT {_ANSWER} FROM answers WHERE annotator = ?", annotator)
    decided = {one.item_id for one in map(_saved, rows) if one.is_decided}
    left = tuple(item for item in items if item not in decided)
    if not left:
        do.run(
            "INSERT INTO finished VALUES (?, ?, ?) ON CONFLICT (annotator, task) DO NOTHING",
            annotator, task, clock.now(),
        )  # fmt: skip
    return left


def _annotator(row: Row) -> Annotator:
    return Annotator(row[0], row[1], row[2], json.loads(row[3]))


def _saved(row: Sequence[Any]) -> Saved:
    item, value, *rest = row
    return Saved(item, None if value is None else json.loads(value), *rest)
