"""Where a server is, without a password anywhere; what it answers, as a ranking."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.search.exact import SCORE_DECIMALS


def keep_logger_off_stderr(logger: str) -> None:
    """Let what `logger` logs go to handlers that somebody has set up, and not to standard error where nobody has: the
    error that is raised says it already, in one line."""
    library = logging.getLogger(logger)
    if not any(isinstance(handler, logging.NullHandler) for handler in library.handlers):
        library.addHandler(logging.NullHandler())


_VARIABLE = re.compile(r"\$?([A-Z_][A-Z0-9_]*)")
_PASSWORD = re.compile("://[^/]*:[^/]+@")
_SECRET = re.compile("password|passphrase|key|token|secret", re.IGNORECASE)
_HIDDEN = "[secret]"


@dataclass(frozen=True)
class SecretServerUrl:
    """A server's URL, which may hold a password and is never shown, and where it came from (`origin`, for mends).

    `secrets` are the parts of it that no message may hold.
    """

    url: str = field(repr=False)
    origin: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def redact_secrets(self, text: object) -> str:
        """The first line of `text` without a secret."""
        shown = (str(text).strip() or type(text).__name__).splitlines()[0].strip()
        for secret in sorted(self.secrets, key=len, reverse=True):
            shown = shown.replace(secret, _HIDDEN)
        return shown.rstrip(".")


def resolve_server_address(index: str, target: str, *, schemes: Sequence[str], variable: str) -> SecretServerUrl:
    """The address that stands after `index:` in a spec string: a URL, or the NAME of an environment variable that holds
    one (`variable` where nothing stands there).

    UsageError for what is neither, and for a URL with a password. ModelError when the variable is not set. Neither
    repeats what it was given, as that may be a secret.
    """
    example = f"{schemes[0]}://localhost"
    named = _VARIABLE.fullmatch(target or variable)
    if named:
        url = os.environ.get(named[1], "").strip()
        if not url:
            raise ModelError(
                f"{index} needs a server, but {named[1]} is not set.",
                mend=f"export {named[1]}={example}..., or write {index}:{example}...",
            )
        return _parse_address(index, url, named[1], schemes)
    check_no_password(f"{index}:{target}")
    return _parse_address(index, target, f"what stands after {index}:", schemes)


def check_no_password(text: str) -> None:
    """UsageError where a spec string of an index holds a password: spec strings are written into results. Its text is
    not repeated, and need not be well formed."""
    index, _, rest = text.partition(":")
    address = unquote(rest.partition("?")[0])
    if _PASSWORD.search(unquote(rest)) or _find_secrets_in_url(address):
        raise UsageError(
            f"The address after {index}: contains a password, but spec strings are written into results.",
            mend=f"Put the address into a variable (export MY_SERVER=...) and write {index}:MY_SERVER.",
        )


def _parse_address(index: str, url: str, origin: str, schemes: Sequence[str]) -> SecretServerUrl:
    if not url.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        raise UsageError(
            f"{origin[0].upper()}{origin[1:]} is not a server address for {index}.",
            mend=f"Write it like {schemes[0]}://localhost, or give an environment variable in capitals.",
        )
    # As it is written, and as it is meant.
    secrets = dict.fromkeys(key for secret in _find_secrets_in_url(url) for key in (secret, unquote(secret)))
    return SecretServerUrl(url, origin, tuple(secrets))


def _find_secrets_in_url(url: str) -> list[str]:
    """Passwords and keys in a URL, also in one that is not well formed."""
    _, _, rest = url.partition("://")
    authority, _, query = rest.partition("?")
    user, at, _ = authority.rpartition("@")
    password = user.partition(":")[2] if at else ""
    pairs = (part.partition("=") for part in query.split("&"))
    return [key for key in (password, *(value for name, _, value in pairs if _SECRET.search(name))) if key]


Found = Sequence[tuple[int, float]]
"""Positions of vectors and their scores, in any order."""


def check_query_vectors(queries: NDArray[np.float32], dim: int, k: int) -> None:
    """UsageError unless `queries` is (q, dim) and k at least 1."""
    if queries.ndim != 2 or queries.shape[1] != dim or k < 1:
        raise UsageError(
            f"Cannot search vectors of {dim} dimensions for the best {k} with queries {queries.shape}.",
            mend="Queries need two axes (items, dimensions) with the same number of dimensions, and k must be at "
            "least 1.",
        )


def rank_found_vectors(found: Sequence[Found], k: int) -> RankedCandidates:
    """One row per query, under the tie rule of `exact_search`: scores rounded to 1e-6, ties by position."""
    indices = np.full((len(found), k), -1, dtype=np.int64)
    scores = np.full((len(found), k), -np.inf)
    for row, hits in enumerate(found):
        # Adding 0.0 turns -0.0 into 0.0.
        rounded = [(position, round(score, SCORE_DECIMALS) + 0.0) for position, score in hits]
        best = sorted(rounded, key=lambda hit: (-hit[1], hit[0]))[:k]
        for place, (position, score) in enumerate(best):
            indices[row, place], scores[row, place] = position, score
    return RankedCandidates(indices, scores)
