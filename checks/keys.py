"""Keys and passwords in the files of the repository: exit code 1 where one is not in `keys.toml` with its reason.

    python checks/keys.py [FILE]...

Looks for the forms that vendors give their keys, private keys, passwords in addresses, and texts without pattern that
are called a key, a token, a password or a secret. An entry of `keys.toml` is a file, the fingerprint that this
program prints, and why the text is none.
"""

from __future__ import annotations

import hashlib
import math
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KNOWN = Path(__file__).with_suffix(".toml")
_LARGEST = 2**20
_BINARY = {".png", ".gz", ".parquet", ".woff2", ".ico", ".npz"}

FORMS: Mapping[str, re.Pattern[str]] = {
    "OpenAI or Anthropic": re.compile(r"\bsk-(?:proj-|ant-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    "AWS": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "GitHub": re.compile(r"\b(?:gh[opsru]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,})"),
    "GitLab": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}"),
    "Hugging Face": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    "Google": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "Slack": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "PyPI": re.compile(r"\bpypi-[A-Za-z0-9_-]{50,}"),
    "Voyage or Jina": re.compile(r"\b(?:pa-[A-Za-z0-9_-]{40,}|jina_[A-Za-z0-9_-]{40,})"),
    "JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "password in an address": re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s:/@'\"`<>{}$]+:([^\s:/@'\"`<>{}$]{3,})@"),
    "secret": re.compile(
        r"(?i)(?:api_?key|secret|token(?!i[sz])|password|passwd|authorization|credential)\w*[\"']?\s*(?:[:=]|=>)\s*"
        r"[\"']?(?:bearer )?([A-Za-z0-9+/_=-]{20,})"
    ),
}  # fmt: skip


class Found(NamedTuple):
    """A text that looks like a key. `fingerprint` tells it again without showing it."""

    file: str
    line: int
    form: str
    fingerprint: str


def found_in(text: str, file: str) -> Iterator[Found]:
    """What looks like a key in the text of a file."""
    for number, line in enumerate(text.splitlines(), start=1):
        for form, pattern in FORMS.items():
            for match in pattern.finditer(line):
                said = match[match.lastindex or 0]
                if form != "secret" or _bits(said) >= 3.6:
                    yield Found(file, number, form, hashlib.sha256(said.encode()).hexdigest()[:16])


def _bits(text: str) -> float:
    """Entropy of its characters; 0 for words and names, which have no digit among their letters.

    >>> _bits("some_long_variable_name") == 0.0, _bits("q8Zx2Lw90vTfKj31Rm7c") > 4
    (True, True)
    """
    if not (re.search(r"\d", text) and re.search(r"[A-Za-z]", text)):
        return 0.0
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def tracked() -> list[str]:
    """The files of the repository, and those that may be added to it."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(set(filter(None, done.stdout.split("\0"))))


def scanned(files: Iterable[str]) -> Iterator[Found]:
    """What looks like a key in these files; those that hold no text, or are longer than any text of ours, are none."""
    for file in files:
        path = ROOT / file
        if path.is_file() and path.suffix not in _BINARY and path.stat().st_size <= _LARGEST:
            yield from found_in(path.read_text("utf-8", errors="replace"), file)


def main(files: list[str]) -> int:
    """Scan `files`, all where none are named."""
    known = {
        (one["file"], one["fingerprint"])
        for one in tomllib.loads(KNOWN.read_text("utf-8")).get("known", [])
        if one["why"]
    }
    found = list(scanned(files or tracked()))
    new = [one for one in found if (one.file, one.fingerprint) not in known]
    for one in new:
        print(f"{one.file}:{one.line}: looks like a key ({one.form}), fingerprint {one.fingerprint}")
    if new:
        print("Take it out, and withdraw it where it is a real one; if it is none, say why in checks/keys.toml.")
        return 1
    print(f"No keys but {len({(one.file, one.fingerprint) for one in found})} known to be none.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
