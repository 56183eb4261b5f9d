"""What lies in a folder of documents: which files are of a kind that is read, and why each other one is left out."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from embassay.data.intake import ReasonTally
from embassay.limits import CONVERTED, PROSE, walk_bounded_folder

KINDS: Mapping[str, tuple[str, ...]] = {
    "Markdown": (".md", ".markdown", ".mdown", ".mkd", ".mdx"),
    "reStructuredText": (".rst", ".rest"),
    "text": (".txt", ".text", ".adoc", ".asciidoc", ".org", ".tex"),
    "HTML": (".html", ".htm", ".xhtml"),
    "PDF": (".pdf",),
    "Word": (".docx",),
    "PowerPoint": (".pptx",),
    "EPUB": (".epub",),
    "notebook": (".ipynb",),
}
"""Kind of document -> the suffixes of its files. A file whose name has no suffix is read as text where it is text."""
NEEDS: Mapping[str, str] = {
    "PDF": "pypdfium2",
    **dict.fromkeys(("Word", "PowerPoint", "EPUB", "notebook"), "markitdown"),
}
"""Kind -> the package that reads it, of the extra `documents`; the others need none."""
HIDDEN, LINKS, SAVED = (
    "hidden files and folders", "symbolic links, which are never followed", "asset folders of saved web pages"
)  # fmt: skip
ARCHIVES, OTHERS = "archives, which are not unpacked", "files that are not documents"
EMPTY, PIPES = "empty files", "pipes, devices and sockets"
LICENCES, TEMPLATES = "licences", "page templates"
FOR_PROGRAMS = "files for programs, such as CNAME and requirements.txt"
EXPECTED = frozenset({HIDDEN, LINKS, SAVED, ARCHIVES, OTHERS, EMPTY, PIPES, LICENCES, TEMPLATES, FOR_PROGRAMS})
"""Why something is left out that is no document: said after what is one and could not be read."""
_ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".jar", ".lz4"})
_KIND_OF = {suffix: kind for kind, suffixes in KINDS.items() for suffix in suffixes}
_BARE = re.compile(r"[^.]+")
_LICENCE = re.compile(
    r"(un)?licen[cs]es?([-_.](mit|apache|bsd|a?l?gpl|mpl|isc|cc|third).*)?|copying([-_.].*)?|copyright|"
    r"(third[-_.]?party[-_.]?)?notices?",
    re.IGNORECASE,
)
_FOR_PROGRAMS = re.compile(
    r"cname|codeowners|manifest|version|_redirects|_headers|robots|ads|cmakelists|"
    r"((make|docker|container|gem|pip|rake|just|brew|proc|vagrant|jenkins|cart|pod|guard|cap|fast|danger)file)|"
    r".*[-_.]lock|(.*[-_])?(requirements|constraints)([-_].*)?",
    re.IGNORECASE,
)
"""Names, without a suffix or with one of text, of what is written for programs."""
_STATEMENT = re.compile(
    rb"\{%[-+]?\s*(extends|block|include|import|from|macro|if|for|set|with|load|raw|trans|assign)\b[^%]*%\}|"
    rb"\{\{[-~]?\s*(define|template|block|range|if|with|partial|end)\b[^}]*\}\}|<%[=@-]?[^%]*%>|<\?php"
)
_SHOWN_CODE = re.compile(rb"<(pre|code|textarea|script)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_ODD = re.compile(r"[\s%#\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class FolderFile:
    """A file to be read: its id (the path within the folder, as `format_path_as_id` writes it), kind and bytes."""

    id: str
    path: Path
    kind: str
    bytes: int


@dataclass(frozen=True)
class FolderSurvey:
    """The files of a folder: those to be read, in the order of their ids, and how many there are of every suffix."""

    entries: tuple[FolderFile, ...]
    suffixes: Mapping[str, int]
    tally: ReasonTally = field(default_factory=ReasonTally)
    """What was left out, and why."""


@cache
def can_read_document_kind(kind: str) -> bool:
    """Whether what reads documents of this kind is installed."""
    return kind not in NEEDS or find_spec(NEEDS[kind]) is not None


def find_document_kind(name: str) -> str:
    """The kind of document that a file of this name is; empty for one that is none.

    >>> find_document_kind("a/Guide.MD"), find_document_kind("README"), find_document_kind("photo.png")
    ('Markdown', 'text', '')
    """
    stem, suffix = os.path.splitext(os.path.basename(name))  # noqa: PTH119, PTH122
    return "text" if not suffix and _BARE.fullmatch(stem) else _KIND_OF.get(suffix.lower(), "")


def format_path_as_id(relative: str) -> str:
    """A path within a folder as an id: with `/`, and what would break a line of a run or of judgements as `%20`.

    >>> format_path_as_id("My notes/a#1.md"), format_path_as_id("straße.md")
    ('My%20notes/a%231.md', 'straße.md')
    """
    text = relative.replace(os.sep, "/")
    return _ODD.sub(lambda match: quote(os.fsencode(match[0]), safe=""), text)


def survey_document_folder(folder: Path) -> FolderSurvey:
    """Scan what lies in `folder` and below; links are never followed, and nothing is opened.

    DataError for a folder with more files than are looked at (FILES).
    """
    tally, suffixes, entries = ReasonTally(), Counter[str](), []
    for path, name in _walk_visible_files(folder, tally):
        try:
            status = path.lstat()
        except OSError:
            tally.count_skipped_item("files that cannot be read", name)
            continue
        suffixes[path.suffix.lower()] += 1
        kind = find_document_kind(name)
        if reason := _explain_file_left_out(path, status, kind):
            tally.count_skipped_item(reason, name)
        else:
            entries.append(FolderFile(format_path_as_id(name), path, kind, status.st_size))
    # Sorted by id: each file system lists files in an order of its own.
    entries.sort(key=lambda entry: entry.id)
    return FolderSurvey(tuple(entries), dict(sorted(suffixes.items())), tally)


def has_any_document(folder: Path) -> bool:
    """Whether a file of a kind of document lies in `folder` or below; a name without a suffix says nothing."""
    return any(path.suffix and find_document_kind(name) for path, name in _walk_visible_files(folder, ReasonTally()))


def _walk_visible_files(folder: Path, tally: ReasonTally) -> Iterator[tuple[Path, str]]:
    """Path, and name within the folder, of every file that is not hidden, in order; what is hidden, the folder that a
    browser saves beside a page (its frames, scripts and pictures), and every link are counted, a folder once."""

    def count_unreadable_folder(error: OSError) -> None:
        tally.count_skipped_item(
            "folders that cannot be read", _format_shown_path(Path(os.fsdecode(error.filename)), folder)
        )

    for parent, folders, files in walk_bounded_folder(folder, count_unreadable_folder):
        entered = []
        saved = {f"{Path(name).stem}_files" for name in files if name.lower().endswith((".html", ".htm"))}
        for name in sorted(folders):
            path = Path(parent, name)
            within = _format_shown_path(path, folder)
            if path.is_symlink():
                tally.count_skipped_item(LINKS, within)
            elif name.startswith("."):
                tally.count_skipped_item(HIDDEN, within)
            elif name in saved:
                tally.count_skipped_item(SAVED, within)
            else:
                entered.append(name)
        # os.walk goes only into the folders that this list still has.
        folders[:] = entered
        for name in sorted(files):
            path = Path(parent, name)
            # Office programs put a lock file that begins with ~$ beside a document that is open.
            if name.startswith((".", "~$")):
                tally.count_skipped_item(HIDDEN, _format_shown_path(path, folder))
            else:
                yield path, str(path.relative_to(folder))


def _format_shown_path(path: Path, folder: Path) -> str:
    return format_path_as_id(str(path.relative_to(folder)))


def is_html_template(content: bytes) -> bool:
    """Whether HTML has statements of Jinja, Django, Liquid, Go, ERB or PHP, other than in code that it shows."""
    # Most pages have none, and looking for shown code costs more than finding that out.
    return _STATEMENT.search(content) is not None and _STATEMENT.search(_SHOWN_CODE.sub(b"", content)) is not None


def _explain_not_prose(path: Path, kind: str) -> str:
    """Explain why a file of text is none that people read; empty where it may be."""
    if kind not in ("text", "Markdown", "reStructuredText"):
        return ""
    if _LICENCE.fullmatch(path.name if kind == "text" and not path.suffix else path.stem):
        return LICENCES
    return FOR_PROGRAMS if kind == "text" and _FOR_PROGRAMS.fullmatch(path.stem) else ""


def _explain_file_left_out(path: Path, found: os.stat_result, kind: str) -> str:
    """Explain why a file is left out; empty where it is to be read."""
    if stat.S_ISLNK(found.st_mode):
        return LINKS
    if not stat.S_ISREG(found.st_mode):
        return PIPES
    if path.suffix.lower() in _ARCHIVES:
        return ARCHIVES
    if not kind:
        return OTHERS
    if reason := _explain_not_prose(path, kind):
        return reason
    if not found.st_size:
        return EMPTY
    if not can_read_document_kind(kind):
        return f"{kind} files, which need pip install 'embassay[documents]'"
    limit = CONVERTED if kind in NEEDS else PROSE
    return f"files larger than {limit.format_limited_number(limit.most)}" if found.st_size > limit.most else ""
