"""From a study, and perhaps the address of a server, to the store of its answers."""

from __future__ import annotations

import re

from embassay.errors import UsageError
from embassay.protocols.hume.answers.database import Database
from embassay.protocols.hume.answers.exposure import Browsers, in_words
from embassay.protocols.hume.answers.sqlite import SqliteFile
from embassay.protocols.hume.answers.store import AnswerStore
from embassay.protocols.hume.folder import StudyFolder
from embassay.protocols.hume.folder.reading import ANSWERS
from embassay.runs.files import digest, write_atomic

ADDRESS = "answers.database"
"""Where the answers are if they are not in the folder: an address, which never has a password in it."""


def open_store(folder: StudyFolder, database: str | None = None, *, read_only: bool = False) -> AnswerStore:
    """The store of a study's answers, made where there is none: `answers.sqlite3` in its folder, or the PostgreSQL
    server at `database`, a URL or the name of an environment variable that holds one. A study remembers its server.
    `read_only`: nothing is made, and the file may lie where nothing can be written.

    Raises UsageError for an address that is none, where the answers are somewhere else already, and for a database of
    another study; ModelError where the server does not answer.
    """
    remembered = remembered_address(folder)
    wanted = database or remembered
    file = folder.path / ANSWERS
    if wanted is None:
        return _in_file(folder, read_only=read_only)
    if remembered not in (None, wanted):
        raise UsageError(
            f"The answers to this study are kept at {remembered}.",
            mend=f"Leave --database out, or delete {folder.path / ADDRESS} to begin anew elsewhere.",
        )
    if file.is_file() and _holds_answers(folder):
        raise UsageError(
            f"{file} holds answers to this study already.",
            mend="Serve it without --database, or export these answers and move the file away first.",
        )
    store = AnswerStore(_server(wanted, folder), folder.study)
    if remembered is None and not read_only:
        write_atomic(folder.path / ADDRESS, wanted + "\n")
    return store


def has_store(folder: StudyFolder) -> bool:
    """Whether answers to the study were ever stored, here or on a server."""
    return (folder.path / ANSWERS).is_file() or remembered_address(folder) is not None


def check_independent(folder: StudyFolder) -> None:
    """Raises UsageError where somebody answered in a browser that had shown another's answers: what is exported then is
    not the work of people who worked alone (spec hume 3)."""
    if not has_store(folder):
        return
    store = open_store(folder, read_only=True)
    try:
        exposures = Browsers(store.database).exposures()
    finally:
        store.close()
    if exposures:
        raise UsageError(
            in_words(exposures), mend="Leave these out, or ask for all and say so where you use them."
        )


def remembered_address(folder: StudyFolder) -> str | None:
    """The address of the server that keeps the study's answers, None where its folder does."""
    path = folder.path / ADDRESS
    return path.read_text("utf-8").strip() or None if path.is_file() else None


def schema_of(folder: StudyFolder) -> str:
    """The schema of a study on a server: several studies share a database, each by its name.

    A name that is not plain, or long, gets a fingerprint.
    """
    name = folder.study.name
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40]
    return f"hume_{plain}" if plain == name else f"hume_{plain}_{digest(name)[:8]}"


def _in_file(folder: StudyFolder, *, read_only: bool) -> AnswerStore:
    database = SqliteFile(folder.path / ANSWERS, read_only=read_only)
    return AnswerStore(database, folder.study, read_only=read_only)


def _holds_answers(folder: StudyFolder) -> bool:
    store = _in_file(folder, read_only=True)
    try:
        return any(store.all_answers().values())
    finally:
        store.close()


def _server(address: str, folder: StudyFolder) -> Database:
    from embassay.protocols.hume.answers.postgres import open_server

    return open_server(address, schema_of(folder))
