"""What the routes work on, and its server: a study without its gold, its answers, its links, and what is allowed."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.answers import (
    OWNER,
    AnswerStore,
    Browsers,
    Holder,
    Links,
    open_store,
    own_order,
    study_key,
)
from embassay.protocols.hume.folder import StudyFolder, Task, read_study
from embassay.protocols.hume.study import Item, Who
from embassay.web import server


@dataclass(frozen=True)
class Rates:
    """How often somebody may ask, `burst` at once and then `per_second`: with a link, and from an address with wrong
    ones."""

    burst: int = 200
    per_second: float = 50.0
    wrong_burst: int = 20
    wrong_per_second: float = 0.2


@dataclass(frozen=True)
class ServeOptions:
    """`hosts` are the names the server answers to, without a port; empty: to any. `origins` are hosts with port that
    pages may come from beside the one that was asked, `public_url` is how people reach it, without a last stroke.
    `most_bytes` is the longest body, in `body_seconds` at most."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    public_url: str | None = None
    most_bytes: int = 64 * 1024
    body_seconds: float = 10.0
    rates: Rates = Rates()


@dataclass(frozen=True)
class Service:
    """A study that is served."""

    folder: StudyFolder
    store: AnswerStore
    links: Links
    options: ServeOptions = field(default_factory=ServeOptions)

    @cached_property
    def items(self) -> Mapping[str, Item]:
        """Every item by its id."""
        return {item.id: item for item in self.folder.items}

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """Every task by its name."""
        return {task.name: task for task in self.folder.study.tasks}

    @cached_property
    def items_by_task(self) -> Mapping[str, tuple[Item, ...]]:
        """The items of every task, in the order of the file."""
        return {name: self.folder.items_of(name) for name in self.tasks}

    @cached_property
    def browsers(self) -> Browsers:
        """What browsers were shown and wrote."""
        return Browsers(self.store.database)

    def order(self, annotator: str, task: str) -> tuple[str, ...]:
        """The ids of a task's items in this annotator's own order."""
        return own_order(
            self.folder.study.seed, annotator, task, (item.id for item in self.items_by_task[task])
        )

    def annotator_link(self, annotator: str, *, renew: bool = False) -> str:
        """The path of somebody's link."""
        return f"/a/{self.links.make(Holder('annotator', annotator), renew=renew)}/"

    def owner_link(self, *, renew: bool = False) -> str:
        """The path of the owner's link."""
        return f"/o/{self.links.make(Holder('owner', OWNER), renew=renew)}/"

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()


def open_service(
    path: Path,
    annotators: Iterable[str] = (),
    simulated: Iterable[str] = (),
    *,
    database: str | None = None,
    options: ServeOptions | None = None,
) -> Service:
    """The study in the folder `path` ready to be served to `annotators`, to scripts that are `simulated` ones, and to
    all who were let in before.

    Raises DataError for a folder without a study, UsageError for a database of another one and where nobody is let in.
    """
    folder = read_study(path)
    store = open_store(folder, database)
    try:
        _let_in(store, ((annotators, "person"), (simulated, "simulated")))
        links = Links(store.database, study_key(path))
    except OSError as error:
        store.close()
        raise UsageError(
            f"The key of the links cannot be kept in {path}: {error.strerror or error}.",
            mend="Serve the study from a folder that can be written.",
        ) from error
    except BaseException:
        store.close()
        raise
    return Service(folder, store, links, options or ServeOptions())


def _let_in(store: AnswerStore, people: Iterable[tuple[Iterable[str], Who]]) -> None:
    for names, kind in people:
        for name in names:
            store.add_annotator(name, kind)
    if not store.annotators():
        raise UsageError(
            "Nobody may annotate this study yet.", mend="Name who shall: --annotator ann --annotator bob"
        )


def serve_study(
    service: Service, listening: socket.socket, *, proxy_headers: bool, ready: Callable[[], None]
) -> None:
    """Serve a study until Ctrl-C or TERM; see `web.server.serve`. ModelError where the extra `web` is missing."""

    def make() -> Any:
        from embassay.web.annotation.app import make_app

        return make_app(service)

    server.serve(make, listening, command="hume serve", proxy_headers=proxy_headers, ready=ready)
