"""Answers as they go over the line: made once, zipped once, and told apart by what is in them."""

from __future__ import annotations

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock

JSON, HTML = "application/json", "text/html; charset=utf-8"
_WORTH = 256
"""Shorter bodies are sent as they are."""


@dataclass(frozen=True)
class Packed:
    """A body, the same zipped (None where that does not pay), and its ETag."""

    media: str
    body: bytes
    zipped: bytes | None
    etag: str


def pack(body: str | bytes, media: str) -> Packed:
    """A body ready to be sent. Names may hold anything: what is no text is replaced."""
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    zipped = gzip.compress(data, 6, mtime=0) if len(data) > _WORTH else None
    # Weak: the same tag stands for the body and for its zipped form.
    etag = f'W/"{hashlib.sha256(data).hexdigest()[:20]}"'
    return Packed(media, data, zipped if zipped is not None and len(zipped) < len(data) else None, etag)


def is_known(etag: str, asked: str | None) -> bool:
    """Whether an If-None-Match header names this tag.

    >>> is_known('W/"a"', '"b", W/"a"'), is_known('W/"a"', '"a"'), is_known('W/"a"', None)
    (True, True, False)
    """
    names = {one.strip().removeprefix("W/") for one in (asked or "").split(",")}
    return "*" in names or etag.removeprefix("W/") in names


class Kept:
    """Answers by what they are made of; the ones asked for longest ago go when `most_bytes` are reached. Two that ask
    for the same wait for one making of it."""

    def __init__(self, most_bytes: int = 64 * 2**20) -> None:
        self._most, self._size = most_bytes, 0
        self._kept: OrderedDict[Hashable, Packed] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Packed]) -> Packed:
        """The answer for `key`, made where it is not there."""
        found = self._found(key)
        if found is not None:
            return found
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            found = self._found(key)
            if found is None:
                found = make()
                self._keep(key, found)
            with self._lock:
                self._making.pop(key, None)
        return found

    def _found(self, key: Hashable) -> Packed | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, made: Packed) -> None:
        with self._lock:
            self._kept[key] = made
            self._size += _size(made)
            while self._size > self._most and len(self._kept) > 1:
                self._size -= _size(self._kept.popitem(last=False)[1])


def _size(made: Packed) -> int:
    return len(made.body) + len(made.zipped or b"")
