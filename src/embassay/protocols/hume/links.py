"""Personal links: tokens of 256 bits that only the holder of the study's key can make, and the store cannot tell.

A token is the HMAC-SHA-256 of whom it is for under a key that lies in a file of the study's folder, so that a link is
the same at every start. The store keeps its hash: who reads the database, or a copy of it, learns no link. Renewing
counts up the link's generation, and the earlier token is nobody's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.database import StudyDatabase, Transaction
from embassay.protocols.hume.store import Role

KEY_FILE = "serve.key"
OWNER = "owner"
_KEY_BYTES = 32
# A digest of 32 bytes in base64 without padding.
_TOKEN_LENGTH = 43


@dataclass(frozen=True)
class LinkHolder:
    """Whose link it is."""

    role: Role
    id: str


class StudyLinks:
    """The links of a study in `database`, made with `key`."""

    def __init__(self, database: StudyDatabase, key: bytes) -> None:
        self._database, self._key = database, key

    def make(self, holder: LinkHolder, *, renew: bool = False) -> str:
        """Make the token of a person's link, the same at every call unless it is renewed.

        Raises UsageError where the link was made with another key, and would silently become void.
        """
        return self._database.write(lambda do: self._load_or_make_link_token(do, holder, renew))

    def find(self, token: str) -> LinkHolder | None:
        """Find the person whose link has this token; None where it is nobody's."""
        if len(token) != _TOKEN_LENGTH or not token.isascii():
            return None
        wanted = _hash_token(token)
        row = self._database.read(lambda do: do.first("SELECT role, id, hash FROM links WHERE hash = ?", wanted))
        # What is looked up is a hash that nobody can steer; the last word is a comparison in constant time.
        return LinkHolder(row[0], row[1]) if row and hmac.compare_digest(row[2], wanted) else None

    def make_csrf_key(self, token: str) -> str:
        """Make the key against forged requests that a page opened with `token` must send."""
        return _encode_digest_as_text(hmac.digest(self._key, b"form\0" + token.encode(), "sha256"))

    def is_csrf_key(self, token: str, shown: str) -> bool:
        """Whether that is what the page shows, compared in constant time."""
        return hmac.compare_digest(self.make_csrf_key(token).encode(), shown.encode("utf-8", "replace"))

    def _load_or_make_link_token(self, do: Transaction, holder: LinkHolder, renew: bool) -> str:
        row = do.first("SELECT generation, hash FROM links WHERE role = ? AND id = ?", holder.role, holder.id)
        generation = 1 if row is None else int(row[0]) + renew
        token = self._derive_link_token(holder, generation)
        if row is None:
            do.run("INSERT INTO links VALUES (?, ?, ?, ?)", holder.role, holder.id, generation, _hash_token(token))
        elif renew:
            do.run(
                "UPDATE links SET generation = ?, hash = ? WHERE role = ? AND id = ?",
                generation, _hash_token(token), holder.role, holder.id
            )  # fmt: skip
        elif row[1] != _hash_token(token):
            raise UsageError(
                "The study's links were created with a key that differs from the one in its folder.",
                mend=f"Restore the original {KEY_FILE}, or pass --new-links to create new links.",
            )
        return token

    def _derive_link_token(self, holder: LinkHolder, generation: int) -> str:
        words = "\0".join(("link", holder.role, holder.id, str(generation)))
        return _encode_digest_as_text(hmac.digest(self._key, words.encode(), "sha256"))


def load_or_make_study_key(folder: Path) -> bytes:
    """The key of the study in `folder`, made where there is none; only its owner may read the file.

    Raises DataError for a file that holds no key.
    """
    path = folder / KEY_FILE
    if not path.exists():
        _write_study_key_file(path)
    try:
        key = bytes.fromhex(path.read_text("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise DataError(
            "The file contains no valid key", path=path, expected=f"{2 * _KEY_BYTES} hexadecimal digits",
            mend="Restore the original, or delete the file and pass --new-links."
        )  # fmt: skip
    return key


def _write_study_key_file(path: Path) -> None:
    """Write a study's secret key in one step, so that only its owner can read it."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(secrets.token_hex(_KEY_BYTES) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    try:
        path.hardlink_to(part)
    except FileExistsError:
        pass
    except OSError:
        part.replace(path)  # a disk without hard links
    finally:
        part.unlink(missing_ok=True)


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _encode_digest_as_text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
