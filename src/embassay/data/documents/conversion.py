"""Documents that need converting, in a process of its own: a hostile file ends that process, never this one.

What a conversion took is kept in the cache folder by the bytes of the file, so that every process of a run, and the
next run, has it at once; so is a refusal.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from threading import Timer
from typing import IO, cast

from embassay.data.documents.folder import NEEDS
from embassay.data.documents.markup import DocumentAsText, UnreadableDocumentError, find_title_heading_at_start
from embassay.errors import DataError
from embassay.limits import CONVERTER, PROSE, SECONDS, TIMES, list_bounded_folder_entries
from embassay.machine import find_cache_folder
from embassay.parquet import close_idle_readers_at_exit, close_process_pipes, kill_reader_process

VERSION = "1"
"""Part of what conversions are kept under; raised when the same bytes give another text."""
_PROGRAM = Path(__file__).with_name("converter.py")
_IMPATIENT = 3
"""How many times the seconds of CPU a conversion may take by the clock."""


@cache
def list_converter_versions(kind: str) -> tuple[str, ...]:
    """List what decides how a document of this kind reads, with versions."""
    needed = ("mammoth", "markdownify") if NEEDS.get(kind) == "markitdown" else ()
    packages = (*filter(None, (NEEDS.get(kind),)), *needed)
    return (VERSION, *(f"{name} {metadata.version(name)}" for name in packages))


def convert_document(path: Path, kind: str) -> DocumentAsText:
    """The document in `path`. Unread, with the reason, for one that is damaged, locked, without text, or takes more
    than the limits allow (CONVERTER, SECONDS, PROSE, TIMES)."""
    cached = _find_conversion_file(path, kind)
    reply = _read_kept_conversion(cached)
    if reply is None:
        reply = _request_conversion_from_process(path, kind)
        if kind in NEEDS or "refused" in reply:
            _write_kept_conversion(cached, reply)
    if "refused" in reply:
        raise UnreadableDocumentError(reply["refused"])
    title = reply["title"] or (find_title_heading_at_start(reply["text"]) if kind != "PDF" else "")
    return DocumentAsText(reply["text"], title, reply["lang"])


def _request_conversion_from_process(path: Path, kind: str) -> dict[str, str]:
    request = {
        "path": str(path.absolute()), "kind": kind, "memory": CONVERTER.most, "seconds": SECONDS.most,
        "characters": PROSE.most, "times": TIMES.most
    }  # fmt: skip
    process = _idle.pop() if _idle else _DocumentConverterProcess()
    reply = process.send_request_and_read_answer(json.dumps(request), SECONDS.most)
    if reply is None:
        process.close()
        return {"refused": "files that need more memory or time than allowed"}
    _idle.append(process)
    return cast(dict[str, str], json.loads(reply))


class _DocumentConverterProcess:
    """A process that converts documents, and what is said to it."""

    def __init__(self) -> None:
        # Where this process finds its libraries that one finds them, and not in the folder it happens to stand in.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        self._process = subprocess.Popen(
            # -P: a file beside the program must not pass for a library.
            [sys.executable, "-P", str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment, encoding="utf-8"
        )  # fmt: skip
        if self._get_converter_stdout.readline() != "ready\n":
            self.close()
            raise DataError(
                "the process that converts documents cannot be started",
                mend=f"Check that `{sys.executable} -c 'import embassay'` works.",
            )

    @property
    def _get_converter_stdout(self) -> IO[str]:
        return cast(IO[str], self._process.stdout)

    def send_request_and_read_answer(self, request: str, seconds: int) -> str | None:
        """The line that it answers; None where it died or took too long."""
        # CPU seconds bound work; a process that only waits uses none, so there is a clock too.
        clock = Timer(_IMPATIENT * seconds, self._process.kill)
        clock.start()
        try:
            requests = cast(IO[str], self._process.stdin)
            requests.write(request + "\n")
            requests.flush()
            line = self._get_converter_stdout.readline()
        except OSError:  # it died between two requests
            line = ""
        finally:
            clock.cancel()
        return line if line.endswith("\n") else None

    def close(self) -> None:
        """End the process, in the midst of whatever it does."""
        kill_reader_process(self._process)

    def close_process_pipes(self) -> None:
        """Close the ends here; of a process that is another's, no more than that."""
        close_process_pipes(self._process)


_idle: list[_DocumentConverterProcess] = []
close_idle_readers_at_exit(_idle)


def find_conversions_folder() -> Path:
    """Find the folder where conversions are kept."""
    return find_cache_folder() / "documents"


def _find_conversion_file(path: Path, kind: str) -> Path:
    """The file of a conversion. Of a kind that takes no time only refusals are kept, which may take all the time that
    is allowed."""
    how = json.dumps([kind, list_converter_versions(kind), CONVERTER.most, SECONDS.most, PROSE.most, TIMES.most])
    digest = hashlib.sha256(how.encode())
    with path.open("rb") as stream:
        digest.update(hashlib.file_digest(stream, "sha256").digest())
    return find_conversions_folder() / f"{digest.hexdigest()[:32]}.json"


def _read_kept_conversion(kept: Path) -> dict[str, str] | None:
    try:
        return cast(dict[str, str], json.loads(kept.read_text("utf-8")))
    except (OSError, ValueError):
        return None


def _write_kept_conversion(kept: Path, said: dict[str, str]) -> None:
    """Keep a conversion where that can be: what is not kept is made again."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=kept.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(said, stream)
        Path(name).replace(kept)  # at once: another process may be reading
    except OSError:
        return


def clear_kept_conversions() -> int:
    """Remove what is kept of conversions; the bytes that it took."""
    freed = 0
    for path, size in _list_converted_document_files():
        path.unlink(missing_ok=True)
        freed += size
    return freed


def summarize_kept_conversions() -> ConvertedDocumentsFolderSize:
    """Summarize what is kept of conversions."""
    sizes = [size for _, size in _list_converted_document_files()]
    return ConvertedDocumentsFolderSize(find_conversions_folder(), len(sizes), sum(sizes))


@dataclass(frozen=True)
class ConvertedDocumentsFolderSize:
    """A folder of conversions."""

    path: Path
    entries: int
    bytes: int


def _list_converted_document_files() -> list[tuple[Path, int]]:
    folder = find_conversions_folder()
    files = list_bounded_folder_entries(folder.iterdir(), folder) if folder.is_dir() else []
    return [(path, path.stat().st_size) for path in files if path.suffix in (".json", ".part")]
