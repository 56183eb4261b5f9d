"""The tokenizer of the paper: tiktoken's cl100k_base."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.errors import ModelError

if TYPE_CHECKING:
    import tiktoken

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_FILE = hashlib.sha1(_ADDRESS.encode(), usedforsecurity=False).hexdigest()
_CONNECT_SECONDS = 5.0
_THREADS = 8


class Cl100k:
    """tiktoken's `cl100k_base`, special tokens read as ordinary text.

    Half a surrogate pair is read as U+FFFD. Raises ModelError where the vocabulary is neither cached nor can
    be downloaded.
    """

    name = "cl100k"

    def __init__(self) -> None:
        self._encoding = _open_encoding()
        self.identity = f"cl100k_base/{_SHA256[:16]}/tiktoken-{_version()}"

    def __reduce__(self) -> tuple[Callable[[], Cl100k], tuple[()]]:
        return _shared, ()

    def encode(self, text: str) -> list[int]:
        """Token ids, in order."""
        return self._encoding.encode_ordinary(text)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many texts, in threads."""
        threads = min(_THREADS, os.cpu_count() or 1)
        return self._encoding.encode_ordinary_batch(list(texts), num_threads=threads)

    def pieces(self, text: str) -> list[bytes]:
        """The bytes of each token; a character may be spread over several."""
        return self._encoding.decode_tokens_bytes(self.encode(text))


@cache
def _shared() -> Cl100k:
    """The tokenizer in a process that it was sent to."""
    return Cl100k()


def at_hand() -> bool:
    """Whether the vocabulary lies where it is looked for, so that nothing has to be downloaded."""
    path = _cached_file()
    return path is not None and path.exists()


def _version() -> str:
    import tiktoken

    return tiktoken.__version__


def _cached_file() -> Path | None:
    """Where tiktoken looks for the vocabulary; None where its cache is switched off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable], _FILE) if os.environ[variable] else None
    return Path(tempfile.gettempdir(), "data-gym-cache", _FILE)


def _open_encoding() -> tiktoken.Encoding:
    import requests
    import tiktoken

    path = _cached_file()
    try:
        if path is None or not path.exists():
            # tiktoken downloads without a time limit: find out first whether the server answers.
            requests.head(_ADDRESS, timeout=_CONNECT_SECONDS).raise_for_status()
        elif hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
            # tiktoken would delete a file that does not match, which may be the user's only copy.
            raise ModelError(f"The vocabulary file {path} of cl100k_base is damaged.", mend=_mend())
        return tiktoken.get_encoding("cl100k_base")
    except (OSError, ValueError) as error:
        place = f"readable at {path}" if path else "cached (TIKTOKEN_CACHE_DIR is empty)"
        raise ModelError(
            f"The tokenizer cl100k needs the vocabulary file of cl100k_base, which is neither {place} nor "
            f"to be downloaded ({type(error).__name__}).",
            mend=_mend(),
        ) from None


def _mend() -> str:
    return (
        f"Download {_ADDRESS} once, save it as {_FILE} in a folder and set TIKTOKEN_CACHE_DIR to that "
        f"folder; or use `--tokenizer words`, whose scores are not those of the paper."
    )
