"""Tables of the Hugging Face hub, read through `datasets`, under canonical names; any of its datasets as one table."""

from __future__ import annotations

import hashlib
import json
import socket
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, islice
from logging import ERROR
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from embassay.data.dataset import Dataset
from embassay.data.rows import Origin, Row
from embassay.data.shapes import RETRIEVAL_PARTS
from embassay.data.sources import parts_of_table
from embassay.data.views import ALIASES, View, distinct
from embassay.errors import DataError, UsageError

_EXTRA = "pip install 'embassay[hub]'"


@dataclass(frozen=True)
class Place:
    """What of the hub is read: `configs` are alternatives, of `splits` all are read.

    `only` says that another split will do where there is no more than one: corpora and queries are one split,
    called as it pleased somebody.
    """

    repo: str
    revision: str
    configs: tuple[str, ...]
    splits: tuple[str, ...]
    only: bool = False

    def __str__(self) -> str:
        config = f" {self.configs[0]}" if self.configs else ""
        return f"{self.repo}{config} {'+'.join(self.splits)} at {self.revision[:12]}"


def hub_splits(place: Place, *, streamed: bool) -> list[Any]:
    """The splits at `place` as objects of `datasets`: the one function that talks to the hub.

    HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean to `datasets`. UsageError without
    the library.
    """
    try:
        import datasets
    except ImportError:
        raise UsageError(
            f"{place.repo} is read with the library `datasets`, which is not installed.", mend=f"{_EXTRA}."
        ) from None
    datasets.disable_progress_bars()
    with _quick_to_see_no_network():
        return _loaded(datasets, place, streamed)


def _loaded(datasets: Any, place: Place, streamed: bool) -> list[Any]:
    at: dict[str, Any] = {"path": place.repo, "revision": place.revision}
    config = place.configs[0] if place.configs else None
    if len(place.configs) > 1:
        known = datasets.get_dataset_config_names(**at)
        config = next((name for name in place.configs if name in known), config)
    known = datasets.get_dataset_split_names(**at, config_name=config) if place.only else ()
    splits = known if len(known) == 1 else place.splits
    return [datasets.load_dataset(**at, name=config, split=one, streaming=streamed) for one in splits]


@contextmanager
def _quick_to_see_no_network() -> Iterator[None]:
    """Offline mode while the hub's name is not known here: half a minute of retries would end the same.

    What is in the hub's cache is still found. Behind a proxy names are not ours to know.
    """
    import datasets
    import huggingface_hub.constants as hub
    from huggingface_hub.utils import logging

    proxied = {"http", "https", "all"} & urllib.request.getproxies().keys()
    if hub.HF_HUB_OFFLINE or proxied or _is_known(urlsplit(hub.ENDPOINT).hostname):
        yield
        return
    before = datasets.config.HF_HUB_OFFLINE, logging.get_verbosity()
    hub.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    logging.set_verbosity(ERROR)
    try:
        yield
    finally:
        hub.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = False, before[0]
        logging.set_verbosity(before[1])


def _is_known(host: str | None) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


class HubTable:
    """A table of the hub as a source of rows, numbered from 1."""

    def __init__(self, place: Place, wanted: Iterable[str] | None, *, streamed: bool, instead: str) -> None:
        """`wanted` are the columns that may be asked for (None = all); `instead` is the mend where there is no hub."""
        self.place = place
        self.streamed = streamed
        self._wanted = None if wanted is None else frozenset(wanted)
        self._instead = instead
        self._digest: bytes | None = None

    @property
    def path(self) -> Path:
        """The repository, for errors to name."""
        return Path(self.place.repo)

    @property
    def address(self) -> str:
        """What tells it from other tables."""
        return f"hub:{json.dumps(asdict(self.place))}"

    def origins(self) -> tuple[Origin, ...]:
        """Itself."""
        return (self,)

    def columns(self) -> tuple[str, ...]:
        """The wanted columns that it has."""
        return self._columns

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        first = self._splits[0]
        names = first.column_names
        if names is None:
            names = [key for row in self._guarded(islice(first, 1)) for key in row]
        return tuple(name for name in names if self._wanted is None or name in self._wanted)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """All rows; reading them to the end also settles the digest."""
        path = self.path
        for number, cells in enumerate(self.read(), 1):
            yield Row(path, number, {column: cells.get(column) for column in columns})

    def read(self, skip: int = 0) -> Iterator[Mapping[str, Any]]:
        """The wanted cells of all rows after the first `skip`."""
        wanted = self.columns()
        digest = hashlib.sha256(self.address.encode())
        # One split can skip files unread; over several the rows must be counted.
        alone = len(self._splits) == 1
        rows = self._splits[0].skip(skip) if alone else islice(chain(*self._splits), skip, None)
        for row in self._guarded(rows):
            cells = {name: row.get(name) for name in wanted}
            digest.update(json.dumps(list(cells.values()), default=str).encode())
            yield cells
        if not skip:
            self._digest = digest.digest()

    def digest(self) -> bytes:
        """SHA-256 of repository, revision, configuration, split and the wanted cells of every row."""
        if self._digest is None:
            for _ in self.read():
                pass
        assert self._digest is not None
        return self._digest

    @cached_property
    def _splits(self) -> list[Any]:
        try:
            return hub_splits(self.place, streamed=self.streamed)
        except UsageError:
            raise
        except Exception as error:
            raise self._unreachable(error) from error

    def _guarded(self, rows: Iterable[Any]) -> Iterator[Any]:
        try:
            yield from rows
        except Exception as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> DataError:
        # Network, hub and file formats fail in dozens of classes; all mean that this table cannot be had now.
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:160]
        return DataError(f"{self.place} cannot be read from the hub", found=reason, mend=self._instead)


@dataclass(frozen=True)
class Mapped(View):
    """Canonical names: `paths` is target -> where it may be, a dot leading into a nested cell.

    The first place that holds something counts, row by row; then a column called like the target, in the tables
    of a retrieval set also like BEIR's name for it. A flat table's own ids are not used unless they are mapped:
    on a hub nobody promises that they are there once, and numbers are the same for the hub and a mirror of it.
    """

    paths: Mapping[str, tuple[str, ...]]
    part: str = ""

    def columns(self) -> tuple[str, ...]:
        """The targets that can be read, and the source's own columns."""
        own = self.source.columns()
        targets = distinct((*self.paths, *(ALIASES if self._is_of_a_set else ())))
        found = tuple(target for target in targets if self._roots(target, own))
        hidden = set() if self._is_of_a_set or "id" in self.paths else {"id"}
        return tuple(name for name in distinct((*found, *own)) if name not in hidden)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows under canonical names."""
        own = self.source.columns()
        roots = distinct(root for target in columns for root in self._roots(target, own))
        places = {target: self._places(target) for target in columns}
        for path, line, cells in self.source.rows(roots):
            yield Row(path, line, {target: _first(cells, where) for target, where in places.items()})

    @property
    def _is_of_a_set(self) -> bool:
        return self.part in RETRIEVAL_PARTS or self.part == "top_ranked"

    def _places(self, target: str) -> tuple[str, ...]:
        alias = (ALIASES[target],) if self._is_of_a_set and target in ALIASES else ()
        return (*self.paths.get(target, ()), target, *alias)

    def _roots(self, target: str, own: Sequence[str]) -> tuple[str, ...]:
        roots = (place if place in own else place.partition(".")[0] for place in self._places(target))
        return tuple(root for root in roots if root in own)


def _first(cells: Mapping[str, Any], places: tuple[str, ...]) -> Any:
    for place in places:
        value = cells[place] if place in cells else _inside(cells, place)
        if value is not None and value != "":
            return value
    return None


def _inside(cell: Any, place: str) -> Any:
    """What `place` leads to in nested cells, None where it leads nowhere.

    >>> _inside({"info": {"tags": ["a", "b"]}}, "info.tags.1")
    'b'
    """
    for step in place.split("."):
        if isinstance(cell, Mapping):
            cell = cell.get(step)
        elif isinstance(cell, list) and step.isdigit() and int(step) < len(cell):
            cell = cell[int(step)]
        else:
            return None
    return cell


def open_repository(
    target: str,
    *,
    mapping: Mapping[str, str],
    split: str | None = None,
    config: str = "",
    revision: str = "main",
) -> Dataset:
    """One split (`test`, or the only one there is) of one configuration of the repository `target`.

    UsageError without a repository, DataError where the hub cannot be reached or has no such thing.
    """
    if not target:
        raise UsageError("`hub:` needs the name of a repository.", mend="Write hub:ORG/NAME?config=NAME.")
    place = Place(target, revision, (config,) if config else (), (split or "test",), only=split is None)
    instead = "Check the name, ?config= and --split; or download its files and name them with -d PATH."
    table = HubTable(place, None, streamed=False, instead=instead)
    return Dataset(target, parts_of_table(table, mapping, None), settings={"mapping": dict(mapping)})
