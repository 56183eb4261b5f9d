"""Tables of the Hugging Face hub, read through `datasets`."""

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

from embassay.data.rows import Origin, Row
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
