"""The process that converts documents: a program of its own, which opens one file after the other.

Requests come on standard input, one line of JSON each: `path`, `kind`, and `memory` in bytes, `seconds` of CPU,
`characters` and `times` (to which a packed file may unpack) that are allowed. Each answer is a line of JSON: `text`,
`title` and `lang`, or `refused`, which says why in words that many documents can be counted under.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import zipfile
from pathlib import Path
from typing import Any

_MEMBERS = 10_000
"""Files in a packed document; a long book has hundreds."""
_SMALL = 2**26
"""Bytes that a packed document may unpack to whatever its own size."""
_PAGES = 50_000


class DocumentRefused(Exception):
    """Why a document is left out."""


def main() -> None:
    """Answer until there are no more requests."""
    # Only answers may stand where answers are read: what a library prints goes nowhere.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Ctrl-C and a terminal that closes are the other process's business, which may still read what it needs to end
    # well.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        request = json.loads(line)
        import_document_reader(request["kind"])
        limit_process_resources(request)
        # Half of a surrogate pair, which no other program takes, can't be written either.
        answers.write(json.dumps(answer_conversion_request(request)) + "\n")
        answers.flush()


def answer_conversion_request(asked: dict[str, Any]) -> dict[str, str]:
    """Answer a request for the conversion of a document."""
    try:
        title, lang, text = _READERS[asked["kind"]](asked)
    except DocumentRefused as refused:
        return {"refused": str(refused)}
    except MemoryError:
        return {"refused": "files that need more memory than allowed"}
    except RecursionError:
        return {"refused": "files that are nested too deeply"}
    except OSError:
        return {"refused": "files that cannot be read"}
    except Exception:
        # A library fails in its own ways on what is damaged; whatever it raises, this file has no text to give.
        return {"refused": f"damaged {asked['kind']} files"}
    if len(text) > asked["characters"]:
        return {"refused": "files with more text than allowed"}
    return {"text": _remove_invalid_characters(text), "title": _remove_invalid_characters(title), "lang": lang}


def _remove_invalid_characters(text: str) -> str:
    """Remove halves of surrogate pairs and NULs, which the libraries may give."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _convert_html_to_text(asked: dict[str, Any]) -> tuple[str, str, str]:
    from embassay.data.documents.markup import (
        UnreadableDocumentError,
        cut_pictures_fix_line_ends,
        detect_and_decode_text,
        extract_html_text_title_and_language,
        find_declared_charset,
    )

    content = Path(asked["path"]).read_bytes()
    try:
        page = cut_pictures_fix_line_ends(detect_and_decode_text(content, find_declared_charset(content))[0])
    except UnreadableDocumentError as unread:
        raise DocumentRefused(str(unread)) from None
    text, title, lang = extract_html_text_title_and_language(page)
    return title, lang, text


_SOFT = re.compile("[\ufffe\x02\xad]\r?\n?")
_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])-\r?\n(?=[a-zà-ÿ])")


def _convert_pdf(asked: dict[str, Any]) -> tuple[str, str, str]:
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(asked["path"])
    except pdfium.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise DocumentRefused("password-protected PDF files" if locked else "damaged PDF files") from None
    pages, held = [], 0
    for number in range(min(len(document), _PAGES)):
        page = document[number]
        text = page.get_textpage().get_text_range()
        held += len(text)
        if held > asked["characters"]:
            raise DocumentRefused("files with more text than allowed")
        pages.append(text)
        page.close()
    title = " ".join(str(document.get_metadata_dict().get("Title") or "").split())
    whole = _HYPHEN.sub("", _SOFT.sub("", "\n\n".join(pages))).replace("\r\n", "\n").replace("\r", "\n")
    if not whole.strip():
        raise DocumentRefused("PDF files without text (scanned pages)")
    # Programs write anything as the title; a true one stands on the first page.
    shown = title.casefold() in " ".join(pages[0].split()).casefold()
    return title if title and shown else "", "", whole


def _convert_zip_document(asked: dict[str, Any]) -> tuple[str, str, str]:
    check_zip_expansion(asked)
    return _convert_with_markitdown(asked)


def _convert_with_markitdown(asked: dict[str, Any]) -> tuple[str, str, str]:
    from markitdown import StreamInfo, converters

    # By the kind that the name says: the library's own guess would load a model, and fetch what a file names.
    converter = getattr(converters, _CONVERTERS[asked["kind"]])()
    content = io.BytesIO(Path(asked["path"]).read_bytes())
    result = converter.convert(content, StreamInfo(extension=Path(asked["path"]).suffix.lower()))
    return result.title or "", "", _NUMBERS.sub("", result.markdown)


def check_zip_expansion(asked: dict[str, Any]) -> None:
    """Check that a ZIP file does not unpack to far more than text does; refused if so, or if none."""
    path = Path(asked["path"])
    try:
        with zipfile.ZipFile(path) as package:
            members = package.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        raise DocumentRefused(f"damaged {asked['kind']} files") from None
    # The first bit of a member's flags says that it is encrypted.
    if any(member.flag_bits & 1 for member in members):
        raise DocumentRefused(f"encrypted {asked['kind']} files")
    # The sizes are those that the archive states: nothing is unpacked to know them.
    size = sum(member.file_size for member in members)
    if len(members) > _MEMBERS or size > max(_SMALL, asked["times"] * path.stat().st_size):
        raise DocumentRefused("files that unpack to far more data than a document should")


_NUMBERS = re.compile(r"<!-- Slide number: \d+ -->\n?")
_CONVERTERS = {
    "Word": "DocxConverter", "PowerPoint": "PptxConverter", "EPUB": "EpubConverter", "notebook": "IpynbConverter"
}  # fmt: skip
_READERS = {
    "HTML": _convert_html_to_text,
    "PDF": _convert_pdf,
    "Word": _convert_zip_document,
    "PowerPoint": _convert_zip_document,
    "EPUB": _convert_zip_document,
    "notebook": _convert_with_markitdown,
}


def import_document_reader(kind: str) -> None:
    """Import what reads this kind, whose own memory is not the document's."""
    if kind == "PDF":
        import pypdfium2  # noqa: F401
    elif kind in _CONVERTERS:
        import markitdown.converters  # noqa: F401


def read_address_space_size() -> int:
    """Read the bytes of address space of this process; 0 where the system does not say."""
    try:
        # The first number of statm is the size in pages.
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def limit_process_resources(asked: dict[str, Any]) -> None:
    """Limit the process to so much more memory, and so many seconds of CPU from now."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    for kind, limit in (
        # Limits count from the start of the process, which has converted others before.
        (resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + asked["seconds"]),
        (resource.RLIMIT_AS, read_address_space_size() + asked["memory"]),
    ):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    main()
