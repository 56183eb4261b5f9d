"""Keys: read from the environment, and kept out of everything that is written or shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from embassay.errors import ModelError, UsageError

_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pa|co|jina|xai|gsk|hf)[-_][A-Za-z0-9_*.-]{8,}|\bAIza[\w-]{20,}"
    r"|(?<=Bearer )\S+|(?<=[?&]key=)[^&\s\"']+|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"
)
_DUMMY = "none-needed"
_SHORT = 8
_read: set[str] = set()
"""Every key this process has read, so that none is ever shown."""
_needed: ContextVar[bool] = ContextVar("needed", default=True)


@contextmanager
def keyless() -> Iterator[None]:
    """Inside, models open without their keys: for a plan, which sends nothing."""
    token = _needed.set(False)
    try:
        yield
    finally:
        _needed.reset(token)


def read_key(vendor: str, names: Sequence[str], *, key: str | None = None, local: bool = False) -> str:
    """The key for `vendor`: from the environment variable `key` where it is given, else the first of `names`
    that is set.

    A server on this machine (`local`) needs none and gets a dummy. ModelError when there is no key,
    UsageError when `key` is no name of a variable (it may be a key: it is not repeated).
    """
    if key is not None and not _NAME.fullmatch(key):
        raise UsageError(
            "`key=` takes the NAME of an environment variable in capitals, not the key itself.",
            mend=f"Put the key into a variable (export {names[0] if names else 'MY_KEY'}=...) and name that.",
        )
    wanted = [key] if key is not None else list(names)
    for name in wanted:
        value = os.environ.get(name, "").strip()
        if value:
            _read.add(value)
            return value
    if (local and key is None) or not _needed.get():
        return _DUMMY
    raise ModelError(
        f"{vendor} needs a key, and {' or '.join(wanted)} is not set.", mend=f"export {wanted[0]}=..."
    )


def _alone(secret: str) -> str:
    return rf"(?<!\w){re.escape(secret)}(?!\w)"


def redacted(text: str) -> str:
    """`text` without any key this process has read, and without what looks like one.

    >>> redacted("Incorrect API key provided: sk-abcdefgh12345678.")
    'Incorrect API key provided: [key]'
    """
    for secret in sorted(_read, key=len, reverse=True):
        # A short one (what a local server is told for a key) is taken out where it stands alone, not inside of words.
        text = re.sub(_alone(secret) if len(secret) < _SHORT else re.escape(secret), "[key]", text)
    return _LIKE_A_KEY.sub("[key]", text)
