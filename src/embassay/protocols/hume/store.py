"""Where the answers of a study are kept while people give them: a SQLite file in its folder, or a PostgreSQL server.

The store of a study's answers: people, their answers exactly once with their history, and who saw what.

The pages show nobody another's answers, so there is one way left: one browser in which two links were opened, two
annotators', or an annotator's and the owner's. Each browser carries a random name in a cookie; the store keeps whose
answers it was shown, and for whom it wrote.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from embassay.errors import DataError, UsageError
from embassay.protocols.hume import database as clock
from embassay.protocols.hume.database import (
    Row,
    SqliteStudyDatabase,
    StudyDatabase,
    Transaction,
    open_postgres_database,
)
from embassay.protocols.hume.study import (
    ANSWERS,
    Annotation,
    RatingScale,
    StudyFile,
    StudyFolder,
    StudyTask,
    Who,
    convert_value_for_scoring,
)
from embassay.randomness import draw_random_bytes
from embassay.runs.folder import digest_json, write_file_atomically

Role = Literal["annotator", "owner"]
Kind = Literal["person", "simulated", "adjudicator"]
"""Who holds a link: an adjudicator sees what all answered, and what they decide is no annotation."""
DRAFT = "draft"
"""A value {"draft": [...]} is not decided yet: some documents of the query are still open."""


@dataclass(frozen=True)
class Annotator:
    """Who may answer. `name` is the one they gave themselves, None until they did; `settings` are those of the page."""

    id: str
    kind: Kind = "person"
    name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_adjudicator(self) -> bool:
        """Whether they decide what others disagree on."""
        return self.kind == "adjudicator"

    @property
    def annotation_author_kind(self) -> Who:
        """The kind of the annotations they give; an adjudicator gives none."""
        return "simulated" if self.kind == "simulated" else "person"


@dataclass(frozen=True)
class SubmittedAnswer:
    """An answer as it is sent. `seq` counts up in the annotator's browser, so that a repeat is known as one;
    `seconds` are those the item was seen so far, `paused` how often the page was left for long; `tab` who sent it."""

    item_id: str
    value: Any
    seq: int
    seconds: float | None = None
    flag: str = ""
    comment: str = ""
    tab: str = ""
    paused: int = 0


@dataclass(frozen=True)
class SavedAnswer:
    """An answer as it is stored, with the time (ISO 8601, UTC) at which it was."""

    item_id: str
    value: Any
    flag: str
    comment: str
    seconds: float | None
    paused: int
    seq: int
    saved_at: str

    @property
    def has_scorable_value(self) -> bool:
        """Whether it has a value that scoring can use."""
        return self.value is not None and not is_undecided_value(self.value)

    @property
    def is_annotator_done_with_item(self) -> bool:
        """Whether the annotator is done with the item: with a value, or a reason why there can be none."""
        return self.has_scorable_value or (self.value is None and bool(self.flag))

    @property
    def is_taken_back(self) -> bool:
        """Whether it was taken back and nothing is left of it."""
        return self.value is None and not self.flag and not self.comment


@dataclass(frozen=True)
class RefusedAnswer:
    """An answer that was not stored: the task is `frozen`, a later one is there (`older`), or `another_tab` writes.
    `answer` is the one that holds."""

    why: Literal["frozen", "older", "another_tab"]
    answer: SavedAnswer | None


@dataclass(frozen=True)
class AnswerChange:
    """One step in the history of an annotator's answers; what was taken back is one too."""

    annotator_id: str
    answer: SavedAnswer
    tab: str


def is_undecided_value(value: Any) -> bool:
    """Whether a value is one that is not decided yet."""
    return isinstance(value, Mapping) and set(value) == {DRAFT}


_LONGEST_GROUP = 80


def convert_answer_for_storage(task: StudyTask, payload: Mapping[str, Any], value: Any) -> Any:
    """`value` as it is stored, in JSON's terms: a label, a group, a rating on the scale, or one 0 or 1 per document
    shown; None, and a draft with open documents, as they are. Raises DataError for what is none of these.
    """
    where = "This answer"
    # Only documents are judged one by one, so that only there an answer can be half done.
    if is_undecided_value(value) and task.family == "reranking":
        return {DRAFT: _convert_draft_marks_for_storage(value[DRAFT], _count_shown_documents(payload))}
    if isinstance(value, Mapping | float) and not _is_finite_float(value):
        raise DataError(f"{where} has the wrong type for this task.", mend="Answer the item on its page.")
    like = (0,) * _count_shown_documents(payload) if task.family == "reranking" else None
    try:
        read = convert_value_for_scoring(task.spec, value, where, like=like)
    except OverflowError:
        raise DataError(f"{where} is not a valid number.") from None
    if read is None:
        return None
    if task.family == "sts":
        return _check_rating(read, task.scale or RatingScale(), where)
    if task.family == "clustering":
        return _check_group_id(read, where)
    return list(read) if isinstance(read, tuple) else read


def _check_rating(rating: float, scale: RatingScale, where: str) -> float:
    # Steps such as 0.1 have no exact binary form.
    steps = (rating - scale.low) / scale.step
    if not scale.low <= rating <= scale.high or not math.isclose(steps, round(steps), abs_tol=1e-6):
        raise DataError(
            f"{where} is {rating:g}.",
            mend=f"Give a number from {scale.low:g} to {scale.high:g} in steps of {scale.step:g}.",
        )
    return rating


def _check_group_id(group: str, where: str) -> str:
    if len(group) > _LONGEST_GROUP or not can_be_stored_as_text(group):
        raise DataError(f"{where} is not a valid group id.", mend=f"Use at most {_LONGEST_GROUP} plain characters.")
    return group


def _convert_draft_marks_for_storage(marks: Any, documents: int) -> list[int | None]:
    whole = isinstance(marks, Sequence) and not isinstance(marks, str) and len(marks) == documents
    if not whole or not all(mark is None or mark in (0, 1) for mark in marks):
        raise DataError("This draft does not have one mark per document.", mend="Give 0, 1 or null for each.")
    return [None if mark is None else int(mark) for mark in marks]


def _count_shown_documents(payload: Mapping[str, Any]) -> int:
    return len(payload.get("documents", ()))


def _is_finite_float(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def can_be_stored_as_text(text: str) -> bool:
    """Whether every database can keep a text: no NUL and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


LEASE_SECONDS = 30
"""How long a tab that is silent keeps the right to write."""
_NAME = re.compile(r"\w[\w.@-]{0,79}")
_AS: Mapping[Kind, str] = {"person": "a person", "simulated": "a script", "adjudicator": "an adjudicator"}
_ADJUDICATES = "(SELECT id FROM annotators WHERE kind = 'adjudicator')"
_ANSWER = "item, value, flag, comment, seconds, paused, seq, saved_at"


class AnswerStore:
    """The answers to one study in `database`. Opening it writes down which study that is, or only looks where it is
    `read_only`.

    Raises UsageError where the database holds answers to another study, or under other guidelines.
    """

    def __init__(self, database: StudyDatabase, study: StudyFile, *, read_only: bool = False) -> None:
        self.database = database
        try:
            self._bind_to_study(study, read_only)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def add_annotator(self, annotator: str, kind: Kind = "person") -> bool:
        """Let somebody answer, or decide; whether they are new. Everybody stays what they were at first.

        Raises UsageError for a name that cannot stand in files, and for one that is of another kind already.
        """
        if not _NAME.fullmatch(annotator):
            raise UsageError(
                f"{annotator!r} is not a valid annotator name.",
                mend="Use up to 80 letters, digits, '_', '-', '.' or '@', and begin with a letter or digit.",
            )
        token = self.database.write(
            lambda do: do.run(
                "INSERT INTO annotators VALUES (?, ?, NULL, '{}', ?, '', 0) ON CONFLICT (id) DO NOTHING",
                annotator, kind, clock.current_time_in_iso(),
            )
        )  # fmt: skip
        held = self.annotator(annotator)
        if held is not None and held.kind != kind:
            raise UsageError(
                f"{annotator} is already {_AS[held.kind]} in this study.",
                mend="Choose another name, because answers by scripts, people and adjudicators are never mixed.",
            )
        return bool(token)

    def annotators(self) -> tuple[Annotator, ...]:
        """All who may answer, by id; adjudicators are none of them."""
        return tuple(annotator for annotator in self.list_all_link_holders() if not annotator.is_adjudicator)

    def list_adjudicators(self) -> tuple[Annotator, ...]:
        """All who may decide, by id."""
        return tuple(annotator for annotator in self.list_all_link_holders() if annotator.is_adjudicator)

    def list_all_link_holders(self) -> tuple[Annotator, ...]:
        """All who hold a link but the owner, by id."""
        rows = self.database.read(lambda do: do.all("SELECT id, kind, name, settings FROM annotators ORDER BY id"))
        # In the order of characters, whatever the database's language.
        return tuple(sorted((_make_annotator_from_row(row) for row in rows), key=lambda annotator: annotator.id))

    def annotator(self, annotator: str) -> Annotator | None:
        """The annotator of this id; None where there is none."""
        row = self.database.read(
            lambda do: do.first("SELECT id, kind, name, settings FROM annotators WHERE id = ?", annotator)
        )
        return _make_annotator_from_row(row) if row else None

    def save_name_and_settings(self, annotator: str, name: str | None, settings: Mapping[str, Any]) -> None:
        """Keep the name somebody gave themselves and how their page is set."""
        text = json.dumps(dict(settings), ensure_ascii=False, sort_keys=True)
        self.database.write(
            lambda do: do.run("UPDATE annotators SET name = ?, settings = ? WHERE id = ?", name, text, annotator)
        )

    def save_profile_answers(self, annotator: str, answers: Mapping[str, str]) -> None:
        """Keep what somebody said of themselves, by question; an empty answer takes an earlier one away."""
        self.database.write(lambda do: _store_profile_answers(do, annotator, answers))

    def list_profile_answers(self) -> dict[str, dict[str, str]]:
        """What annotators said of themselves, by annotator and question."""
        return self._read_texts_by_annotator_and_key("question, answer FROM profiles")

    def _read_texts_by_annotator_and_key(self, texts: str) -> dict[str, dict[str, str]]:
        rows = self.database.read(lambda do: do.all(f"SELECT annotator, {texts}"))
        by_name: dict[str, dict[str, str]] = {}
        # No database promises an order of rows.
        for annotator, key, text in sorted(rows):
            by_name.setdefault(annotator, {})[key] = text
        return by_name

    def save(self, annotator: str, task: str, draft: SubmittedAnswer) -> SavedAnswer | RefusedAnswer:
        """Store an answer exactly once: the same one with the same `seq` again is acknowledged and changes nothing."""
        return self.database.write(lambda do: _save_or_refuse_submitted_answer(do, annotator, task, draft))

    def try_to_take_write_lease(self, annotator: str, tab: str, *, take: bool) -> bool:
        """Whether `tab` may write: it does already, no other does, or it shall `take` the right from one that does."""
        return self.database.write(lambda do: _try_to_take_write_lease(do, annotator, tab, take=take))

    def finish(self, annotator: str, task: str, items: Sequence[str]) -> tuple[str, ...]:
        """Freeze the answers to a task's `items`, if all are decided; those that are open, none when it is frozen."""
        return self.database.write(lambda do: _freeze_task_if_all_items_decided(do, annotator, task, items))

    def answers(self, annotator: str) -> dict[str, SavedAnswer]:
        """A person's answers by item, also those that were taken back."""
        rows = self.database.read(lambda do: do.all(f"SELECT {_ANSWER} FROM answers WHERE annotator = ?", annotator))
        return {row.item_id: row for row in sorted(map(_make_answer_from_row, rows), key=lambda row: row.item_id)}

    def list_all_answers(self) -> dict[str, dict[str, SavedAnswer]]:
        """Every annotator's answers, by annotator and item; no decisions of adjudicators."""
        return self._select_answers_by_annotator(f"annotator NOT IN {_ADJUDICATES}")

    def list_adjudicator_decisions(self) -> dict[str, dict[str, SavedAnswer]]:
        """What adjudicators decided, by adjudicator and item."""
        return self._select_answers_by_annotator(f"annotator IN {_ADJUDICATES}")

    def _select_answers_by_annotator(self, whose: str) -> dict[str, dict[str, SavedAnswer]]:
        rows = self.database.read(lambda do: do.all(f"SELECT annotator, {_ANSWER} FROM answers WHERE {whose}"))
        by_name: dict[str, dict[str, SavedAnswer]] = {}
        for annotator, *row in sorted(rows, key=lambda row: (row[0], row[1])):
            by_name.setdefault(annotator, {})[row[0]] = _make_answer_from_row(row)
        return by_name

    def changes(self, annotator: str) -> tuple[AnswerChange, ...]:
        """The history of somebody's answers, oldest first."""
        rows = self.database.read(
            lambda do: do.all(f"SELECT {_ANSWER}, tab FROM changes WHERE annotator = ?", annotator)
        )
        history = [AnswerChange(annotator, _make_answer_from_row(row[:-1]), row[-1]) for row in rows]
        return tuple(
            sorted(history, key=lambda change: (change.answer.seq, change.answer.saved_at, change.answer.item_id))
        )

    def find_last_change_number_of_annotator(self, annotator: str) -> int:
        """The highest `seq` of anything that was stored, 0 before the first."""
        row = self.database.read(lambda do: do.first("SELECT MAX(seq) FROM changes WHERE annotator = ?", annotator))
        return int(row[0]) if row and row[0] is not None else 0

    def finished(self) -> dict[str, dict[str, str]]:
        """When each task was finished, by annotator and task."""
        return self._read_texts_by_annotator_and_key("task, finished_at FROM finished")

    def _bind_to_study(self, study: StudyFile, read_only: bool) -> None:
        facts = {
            "version": "1", "name": study.name, "content": study.content, "guidelines": study.guidelines,
            "guidelines_version": study.guidelines_version
        }  # fmt: skip
        # The first server to open it writes; of two at once, `DO NOTHING` lets the first win and
        # `_check_stored_study_facts` judges both.
        if not read_only and not self._read_stored_study_facts():
            self.database.write(lambda do: _insert_study_facts_into_database(do, facts))
        _check_stored_study_facts(self._read_stored_study_facts(), facts, self.database.place)

    def _read_stored_study_facts(self) -> dict[str, str]:
        rows = self.database.read(lambda do: do.all("SELECT key, value FROM study"))
        return dict(rows)


def _check_stored_study_facts(held: Mapping[str, str], facts: Mapping[str, str], place: str) -> None:
    if held.get("version") != facts["version"]:
        raise UsageError(
            f"{place} was written by a different store version.", mend="Use the Embassay version that wrote it."
        )
    if held.get("content") != facts["content"]:
        raise UsageError(
            f"{place} contains answers to other items, from the study {held.get('name')!r}.",
            mend="Serve that study, or serve this one with another database.",
        )
    if (held.get("guidelines"), held.get("guidelines_version")) != (
        facts["guidelines"], facts["guidelines_version"]
    ):  # fmt: skip
        raise UsageError(
            f"{place} contains answers given under guidelines {held.get('guidelines_version')!r}, but the study now "
            f"has guidelines {facts['guidelines_version']!r}.",
            mend="Guidelines cannot change once people have answered. Restore the old ones or sample a new study.",
        )


def _insert_study_facts_into_database(do: Transaction, facts: Mapping[str, str]) -> None:
    for key, value in facts.items():
        do.run("INSERT INTO study VALUES (?, ?) ON CONFLICT (key) DO NOTHING", key, value)


def _save_or_refuse_submitted_answer(
    do: Transaction, annotator: str, task: str, draft: SubmittedAnswer
) -> SavedAnswer | RefusedAnswer:
    free = _try_to_take_write_lease(do, annotator, draft.tab, take=False)
    row = do.first(f"SELECT {_ANSWER} FROM answers WHERE annotator = ? AND item = ?", annotator, draft.item_id)
    held = _make_answer_from_row(row) if row else None
    # A repeat after an answer that got lost on the way is acknowledged, even when the task is frozen by now.
    if held and held.seq == draft.seq and _is_same_answer(held, draft):
        return held
    if do.first("SELECT 1 FROM finished WHERE annotator = ? AND task = ?", annotator, task):
        return RefusedAnswer("frozen", held)
    if held and held.seq >= draft.seq:
        return RefusedAnswer("older", held)
    return _write_submitted_answer(do, annotator, draft) if free else RefusedAnswer("another_tab", held)


def _is_same_answer(held: SavedAnswer, draft: SubmittedAnswer) -> bool:
    return (held.value, held.flag, held.comment) == (draft.value, draft.flag, draft.comment)


def _write_submitted_answer(do: Transaction, annotator: str, draft: SubmittedAnswer) -> SavedAnswer:
    saved = SavedAnswer(
        draft.item_id, draft.value, draft.flag, draft.comment, draft.seconds, draft.paused, draft.seq,
        clock.current_time_in_iso()
    )  # fmt: skip
    value = None if saved.value is None else json.dumps(saved.value, ensure_ascii=False, allow_nan=False)
    row = (
        annotator, saved.item_id, value, saved.flag, saved.comment, saved.seconds, saved.paused, saved.seq,
        saved.saved_at
    )  # fmt: skip
    # The history is only ever added to: who changed what, and when, stays.
    do.run("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *row, draft.tab)
    do.run(
        """INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (annotator, item) DO UPDATE SET
        value = excluded.value, flag = excluded.flag, comment = excluded.comment, seconds = excluded.seconds,
        paused = excluded.paused, seq = excluded.seq, saved_at = excluded.saved_at""",
        *row,
    )
    return saved


def _try_to_take_write_lease(do: Transaction, annotator: str, tab: str, *, take: bool) -> bool:
    """Whether the tab has the lease afterwards. The update comes first: it locks the annotator's row, so that all that
    one annotator changes happens in turn."""
    at = clock.current_unix_seconds()
    # No lease ends that late, unless the clock was put back meanwhile; two servers' clocks may differ a little.
    held = "1 = 1" if take else "(tab = ? OR tab_until < ? OR tab_until > ?)"
    values = () if take else (tab, at, at + 2 * LEASE_SECONDS)
    return bool(
        do.run(
            f"UPDATE annotators SET tab = ?, tab_until = ? WHERE id = ? AND {held}",
            tab, at + LEASE_SECONDS, annotator, *values,
        )
    )  # fmt: skip


def _store_profile_answers(do: Transaction, annotator: str, answers: Mapping[str, str]) -> None:
    at = clock.current_time_in_iso()
    for question, answer in answers.items():
        do.run("DELETE FROM profiles WHERE annotator = ? AND question = ?", annotator, question)
        if answer:
            do.run("INSERT INTO profiles VALUES (?, ?, ?, ?)", annotator, question, answer, at)


def _freeze_task_if_all_items_decided(
    do: Transaction, annotator: str, task: str, items: Sequence[str]
) -> tuple[str, ...]:
    # Changes nothing and locks the row, so that no answer is saved between looking and freezing.
    do.run("UPDATE annotators SET kind = kind WHERE id = ?", annotator)
    rows = do.all(f"SELECT {_ANSWER} FROM answers WHERE annotator = ?", annotator)
    decided = {answer.item_id for answer in map(_make_answer_from_row, rows) if answer.is_annotator_done_with_item}
    left = tuple(item for item in items if item not in decided)
    if not left:
        do.run(
            "INSERT INTO finished VALUES (?, ?, ?) ON CONFLICT (annotator, task) DO NOTHING",
            annotator, task, clock.current_time_in_iso()
        )  # fmt: skip
    return left


def _make_annotator_from_row(row: Row) -> Annotator:
    return Annotator(row[0], row[1], row[2], json.loads(row[3]))


def _make_answer_from_row(row: Sequence[Any]) -> SavedAnswer:
    item, value, *rest = row
    return SavedAnswer(item, None if value is None else json.loads(value), *rest)


ADDRESS = "database"
"""Where the answers are if they are not in the folder: an address, which never has a password in it."""


def open_answer_store(folder: StudyFolder, database: str | None = None, *, read_only: bool = False) -> AnswerStore:
    """The store of a study's answers, made where there is none: `answers.sqlite3` in its folder, or the PostgreSQL
    server at `database`, a URL or the name of an environment variable that holds one. A study remembers its server.
    `read_only`: nothing is made, and the file may lie where nothing can be written.

    Raises UsageError for an address that is none, where the answers are somewhere else already, and for a database of
    another study; ModelError where the server does not answer.
    """
    remembered = stored_server_address(folder)
    wanted = database or remembered
    file = folder.path / ANSWERS
    if wanted is None:
        return _open_file_store(folder, read_only=read_only)
    if remembered not in (None, wanted):
        raise UsageError(
            f"The answers to this study are stored at {remembered}.",
            mend=f"Omit --database, or delete {folder.path / ADDRESS} to start again elsewhere.",
        )
    if file.is_file() and _has_stored_answers(folder):
        raise UsageError(
            f"{file} already contains answers to this study.",
            mend="Serve it without --database, or export these answers and move the file away first.",
        )
    store = AnswerStore(_open_postgres_study_database(wanted, folder), folder.study)
    if remembered is None and not read_only:
        write_file_atomically(folder.path / ADDRESS, wanted + "\n")
    return store


def has_answer_store(folder: StudyFolder) -> bool:
    """Whether answers to the study were ever stored, here or on a server."""
    return (folder.path / ANSWERS).is_file() or stored_server_address(folder) is not None


def check_annotators_independent(folder: StudyFolder) -> None:
    """Raises UsageError where somebody answered in a browser that had shown another's answers: what is exported then is
    not the work of people who worked alone (spec hume 3)."""
    if not has_answer_store(folder):
        return
    store = open_answer_store(folder, read_only=True)
    try:
        exposures = BrowserAnswerAccessLog(store.database).exposures()
    finally:
        store.close()
    if exposures:
        raise UsageError(
            describe_shared_browser_exposures(exposures),
            mend="Exclude these answers, or include all of them and report it wherever you use them.",
        )


def stored_server_address(folder: StudyFolder) -> str | None:
    """The address of the server that keeps the study's answers, None where its folder does."""
    path = folder.path / ADDRESS
    return path.read_text("utf-8").strip() or None if path.is_file() else None


def study_schema_name(folder: StudyFolder) -> str:
    """The schema of a study on a server: several studies share a database, each by its name.

    A name that is not plain, or long, gets a fingerprint.
    """
    name = folder.study.name
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40]
    # `My study` and `my-study` must not share a schema.
    return f"hume_{plain}" if plain == name else f"hume_{plain}_{digest_json(name)[:8]}"


def _open_file_store(folder: StudyFolder, *, read_only: bool) -> AnswerStore:
    database = SqliteStudyDatabase(folder.path / ANSWERS, read_only=read_only)
    return AnswerStore(database, folder.study, read_only=read_only)


def _has_stored_answers(folder: StudyFolder) -> bool:
    store = _open_file_store(folder, read_only=True)
    try:
        return any(store.list_all_answers().values())
    finally:
        store.close()


def _open_postgres_study_database(address: str, folder: StudyFolder) -> StudyDatabase:

    return open_postgres_database(address, study_schema_name(folder))


def stored_annotations(store: AnswerStore) -> tuple[Annotation, ...]:
    """All answers that are decided or commented, by annotator and item; `value` is None where an item was left open or
    could not be judged. What was taken back and says nothing is left out."""
    answers = store.list_all_answers()
    return tuple(
        _make_annotation(annotator, answer)
        for annotator in store.annotators()
        for answer in _select_answers_with_value_or_comment(answers.get(annotator.id, {}))
    )


def _select_answers_with_value_or_comment(answers: dict[str, SavedAnswer]) -> Iterator[SavedAnswer]:
    return (answer for answer in answers.values() if answer.has_scorable_value or answer.flag or answer.comment)


def _make_annotation(annotator: Annotator, answer: SavedAnswer) -> Annotation:
    value: Any = answer.value if answer.has_scorable_value else None
    return Annotation(
        answer.item_id, annotator.id, tuple(value) if isinstance(value, list) else value, answer.saved_at,
        answer.seconds, annotator.annotation_author_kind, answer.flag, answer.comment
    )  # fmt: skip


def draw_annotator_item_order(seed: int, annotator: str, task: str, items: Iterable[str]) -> tuple[str, ...]:
    """The ids of a task's items in the order of this annotator, drawn by the study's seed.

    >>> draw_annotator_item_order(1, "ann", "emotion", ["a", "b", "c"]) == draw_annotator_item_order(1, "ann",
    ... "emotion", ["c", "b", "a"])
    True
    """
    return tuple(
        sorted(items, key=lambda item: (draw_random_bytes(16, seed, "own_order", annotator, task, item), item))
    )


_MOST_KNOWN = 50_000


@dataclass(frozen=True)
class SharedBrowserExposure:
    """`annotator` answered in a browser that was shown the answers of `others`."""

    annotator: str
    others: tuple[str, ...]


def describe_shared_browser_exposures(exposures: Iterable[SharedBrowserExposure]) -> str:
    """Say in a sentence who answered where another's answers were shown.

    >>> describe_shared_browser_exposures([SharedBrowserExposure("ann", ("bob", "eve"))])
    "Answers were given in a browser that had shown other people's answers: ann (shown: bob, eve)."
    """
    who = ", ".join(f"{exposure.annotator} (shown: {', '.join(exposure.others)})" for exposure in exposures)
    return f"Answers were given in a browser that had shown other people's answers: {who}."


class BrowserAnswerAccessLog:
    """What browsers were shown and wrote, in `database`. What is known already costs no transaction."""

    def __init__(self, database: StudyDatabase) -> None:
        self._database = database
        self._known: set[tuple[str, str, str]] = set()

    def note_answers_shown(self, browser: str, annotators: Iterable[str]) -> None:
        """This browser got answers of these people."""
        self._record_browser_event(browser, "shown", annotators)

    def record_browser_that_answered(self, browser: str, annotator: str) -> None:
        """This browser stored an answer of this annotator."""
        self._record_browser_event(browser, "wrote", (annotator,))

    def list_writers_in_browser(self, browser: str) -> tuple[str, ...]:
        """For whom this browser stored answers, by id."""
        rows = self._database.read(
            lambda do: do.all(
                f"SELECT annotator FROM browsers WHERE browser = ? AND wrote = 1 AND annotator NOT IN {_ADJUDICATES}",
                browser,
            )
        )
        return tuple(sorted(name for (name,) in rows))

    def exposures(self) -> tuple[SharedBrowserExposure, ...]:
        """Everyone who answered where another's answers were shown, by id."""
        rows = self._database.read(
            lambda do: do.all(
                """SELECT own.annotator, other.annotator FROM browsers own JOIN browsers other
                ON own.browser = other.browser AND own.annotator <> other.annotator
                WHERE own.wrote = 1 AND other.shown = 1
                """  # Who decides has to see what others answered.
                f"AND own.annotator NOT IN {_ADJUDICATES} AND other.annotator NOT IN {_ADJUDICATES}"
            )
        )
        seen: dict[str, set[str]] = {}
        for annotator, other in rows:
            seen.setdefault(annotator, set()).add(other)
        return tuple(SharedBrowserExposure(name, tuple(sorted(seen[name]))) for name in sorted(seen))

    def _record_browser_event(self, browser: str, what: str, annotators: Iterable[str]) -> None:
        new = [name for name in annotators if (browser, what, name) not in self._known]
        if not browser or not new:
            return
        self._database.write(lambda do: _store_browser_events(do, browser, what, new))
        # Forgetting costs a transaction each, nothing else.
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known.update((browser, what, name) for name in new)


def _store_browser_events(do: Transaction, browser: str, what: str, annotators: Iterable[str]) -> None:
    column = {"shown": "shown", "wrote": "wrote"}[what]
    for annotator in annotators:
        do.run(
            "INSERT INTO browsers VALUES (?, ?, 0, 0) ON CONFLICT (browser, annotator) DO NOTHING", browser, annotator
        )
        do.run(f"UPDATE browsers SET {column} = 1 WHERE browser = ? AND annotator = ?", browser, annotator)
