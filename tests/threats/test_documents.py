"""Hostile documents in a folder: each is refused or read within bounds, counted, and none is fatal."""

from __future__ import annotations

import io
import os
import random
import socket
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embassay.data import open_dataset
from embassay.data.documents import FolderPassageSource
from embassay.data.documents.conversion import clear_kept_conversions, convert_document, summarize_kept_conversions
from embassay.data.documents.markup import UnreadableDocumentError
from embassay.limits import read_bounded_file
from written_documents import write_docx, write_pdf

pytestmark = pytest.mark.slow
HONEST = "# Honest\n\nThis document is what it says, and has to be read whatever lies beside it.\n"


@pytest.fixture(autouse=True)
def bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of their own, and limits that are reached soon."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EMBASSAY_LIMIT_SECONDS", "3")
    monkeypatch.setenv("EMBASSAY_LIMIT_CONVERTER", "512MiB")
    monkeypatch.setenv("EMBASSAY_LIMIT_PROSE", "4MiB")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One honest document."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "honest.md").write_text(HONEST)
    return own


def read(folder: Path) -> tuple[list[str], dict[str, int]]:
    """Ids of the documents that were read, and how many others by reason."""
    source = FolderPassageSource(folder)
    return sorted(source.folder_contents.ids), {one.reason: one.count for one in source.folder_contents.skipped}


def _bomb(levels: int = 1, size: int = 300_000_000) -> bytes:
    content = b"\0" * size
    for _ in range(levels):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
            package.writestr("word/document.xml", content)
        content = buffer.getvalue()
    return content


def test_bombs_in_packages(folder: Path) -> None:
    """A part that unpacks to a hundred times its size and more, ten thousand parts, parts that lie about their size."""
    pytest.importorskip("markitdown")
    (folder / "bomb.docx").write_bytes(_bomb())
    (folder / "bomb.pptx").write_bytes(_bomb())
    write_docx(folder / "extra.docx", [("Normal", "Text.")], {"word/media/x": b"\0" * 200_000_000})
    with zipfile.ZipFile(folder / "many.docx", "w") as package:
        for number in range(10_001):
            package.writestr(f"{number}", b"")
    lying = write_docx(folder / "lying.docx", [("Normal", "x" * 1000)]).read_bytes()
    with zipfile.ZipFile(io.BytesIO(lying)) as package:
        size = package.getinfo("word/document.xml").file_size
    (folder / "lying.docx").write_bytes(lying.replace(size.to_bytes(4, "little"), (5).to_bytes(4, "little")))
    found, skipped = read(folder)
    assert found == ["honest.md"]
    assert skipped["files that unpack to far more data than a document should"] == 4
    assert sum(skipped.values()) == 5


def test_entities_and_depth_in_xml(folder: Path) -> None:
    """Entities that stand for billions of others, a file outside, and elements a hundred thousand deep."""
    pytest.importorskip("markitdown")
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    for name, head, body in (
        ("laughs", f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]>', "&a9;"),
        ("outside", '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "&a;"),
    ):
        _with_document(folder / f"{name}.docx", f"<?xml version='1.0'?>{head}<w>{body}</w>".encode())
    _with_document(folder / "deep.docx", b"<?xml version='1.0'?>" + b"<w>" * 100_000 + b"</w>" * 100_000)
    found, skipped = read(folder)
    assert found == ["honest.md"]
    assert sum(skipped.values()) == 3
    texts = open_dataset(str(folder)).load("documents").data.texts
    assert not any("root:" in text for text in texts)


def _with_document(path: Path, content: bytes) -> None:
    whole = write_docx(path, [("Normal", "Text.")])
    with zipfile.ZipFile(whole) as package:
        parts = {one: package.read(one) for one in package.namelist()}
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in {**parts, "word/document.xml": content}.items():
            package.writestr(name, part)


def test_bombs_in_pdfs(folder: Path) -> None:
    """A stream of a gigabyte, a page that shows ten million letters, half a file, and a loop in the tree of pages."""
    pytest.importorskip("pypdfium2")
    write_pdf(folder / "fine.pdf", [["A helmet is worn in the hall."]])
    write_pdf(folder / "zeros.pdf", [["x"]], stream=zlib.compress(b" " * 1_000_000_000, 9))
    shown = b"BT /F1 1 Tf " + b"(aaaaaaaaaaaaaaaaaaaa) Tj " * 500_000 + b"ET"
    write_pdf(folder / "letters.pdf", [["x"]], stream=zlib.compress(shown, 9))
    whole = (folder / "fine.pdf").read_bytes()
    (folder / "half.pdf").write_bytes(whole[: len(whole) // 3])
    (folder / "loop.pdf").write_bytes(whole.replace(b"/Kids [3 0 R]", b"/Kids [4 0 R]"))
    (folder / "empty.pdf").write_bytes(b"%PDF-1.4\n")
    found, skipped = read(folder)
    assert {"honest.md", "fine.pdf"} <= set(found)
    assert len(found) + sum(skipped.values()) == 7


@pytest.mark.parametrize("kind", ["pdf", "docx", "pptx", "epub", "ipynb", "html", "md", "txt"])
def test_noise_and_broken_copies(kind: str, folder: Path) -> None:
    """Twenty files of each kind: random bytes, and honest files with bytes changed, cut, doubled."""
    draw = random.Random(kind)
    seeds = list(_honest(kind, folder.parent))
    for number in range(20):
        content = bytearray(draw.choice(seeds) if number % 4 else draw.randbytes(2_000))
        for _ in range(number):
            content[draw.randrange(len(content))] = draw.randrange(256)
        if number % 5 == 1:
            content = content[: draw.randrange(1, len(content))]
        (folder / f"{number}.{kind}").write_bytes(bytes(content))
    found, skipped = read(folder)
    assert "honest.md" in found
    assert len(found) + sum(skipped.values()) == 21


def _honest(kind: str, folder: Path) -> Iterator[bytes]:
    if kind == "pdf":
        yield write_pdf(folder / "a", [["A helmet is worn."], ["Nobody runs."]]).read_bytes()
    elif kind in ("docx", "pptx", "epub"):
        yield write_docx(folder / "a", [("Heading1", "Rye"), ("Normal", "Bread keeps.")]).read_bytes()
    elif kind == "ipynb":
        yield b'{"cells": [{"cell_type": "markdown", "source": ["# Rye"]}], "nbformat": 4, "metadata": {}}'
    else:
        yield "---\ntitle: Ü\n---\n<html><p>Größe und Mühe</p><!-- x --></html>\n".encode("cp1252") * 20


def test_texts_that_are_hard_to_read(folder: Path) -> None:
    """Half of a byte order mark, surrogates, a line of ten megabytes, a thousand levels of HTML, unended comments."""
    (folder / "half.txt").write_bytes(b"\xff\xfea")
    (folder / "surrogate.txt").write_bytes(b"text \xed\xa0\x80 text " * 20)
    (folder / "long.txt").write_bytes(b"word " * 2_000_000)
    (folder / "line.md").write_bytes(b"a" * 3_000_000)
    (folder / "dots.md").write_bytes(b"." * 1_000_000)
    (folder / "hashes.md").write_bytes(b"# a\n" * 200_000)
    (folder / "deep.html").write_bytes(b"<div>" * 200_000 + b"deep")
    (folder / "comments.html").write_bytes(b"<!--" * 200_000 + b"x")
    (folder / "attributes.html").write_bytes(b"<a " + b"x=" * 500_000 + b">text</a>")
    (folder / "entities.html").write_bytes(b"&amp" * 300_000)
    (folder / "matter.md").write_bytes(b"---\n" + b"a: &a [*a, *a]\n" * 2_000 + b"---\ntext")
    found, skipped = read(folder)
    assert "honest.md" in found
    assert len(found) + sum(skipped.values()) == 12
    assert open_dataset(str(folder)).load("documents").data.texts


def test_a_text_without_a_blank_is_cut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty megabytes of one word are passages of 8,000 letters, and it is said; memory stays below a gigabyte."""
    monkeypatch.setenv("EMBASSAY_LIMIT_PROSE", "64MiB")
    (folder / "blob.txt").write_bytes(b"k9Zq" * 7_500_000)
    program = (
        "import re, sys; from embassay.data import open_dataset; data = open_dataset(sys.argv[1])\n"
        "texts = data.load('documents').data.texts; print(len(texts), max(map(len, texts)), *data.notes, sep='|')\n"
        # The most of this process: what `getrusage` tells outlives the start and may be that of the tests' own.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True)
    said, memory = ended.stdout.splitlines()
    passages, longest, note = said.split("|")
    assert (int(passages), int(longest)) == (3_751, 8_000)
    assert "blob.txt" in note
    assert int(memory) < 900_000  # KiB


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets in folders")
def test_what_is_no_file_and_what_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe, a socket, links in a circle, a file that may not be read, one that grows and one that goes meanwhile."""
    os.mkfifo(folder / "pipe.md")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket.md")
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    (folder / "up.md").symlink_to(folder)
    for name in ("closed.md", "grows.md", "goes.md"):
        (folder / name).write_text(f"Text of {name}.")

    def bounded(path: Path, limit: Any) -> bytes:
        if path.name == "closed.md":  # root may read what nobody may
            raise PermissionError(13, "Permission denied", str(path))
        if path.name == "grows.md":
            path.write_bytes(b"More text. " * 1_000_000)
        if path.name == "goes.md":
            path.unlink()
        return read_bounded_file(path, limit)

    monkeypatch.setattr("embassay.data.documents.passages.read_bounded_file", bounded)
    found, skipped = read(folder)
    assert found == ["honest.md"]
    assert skipped == {
        "symbolic links, which are never followed": 3, "pipes, devices and sockets": 2,
        "files that cannot be read": 2, "files larger than 4 MiB": 1,
    }  # fmt: skip


def test_names_that_are_hard_to_write(folder: Path) -> None:
    """Line breaks, tabs, bytes that are no UTF-8, names of 250 bytes: each id is one word."""
    names = ["a\nb.md", "tab\there.md", "-rf.md", "q" * 250 + ".md", "..md", "a%2Fb.md", "\u202etxt.md"]
    for number, name in enumerate(names):
        (folder / name).write_text(f"Text number {number} under an odd name.")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.md")).write_text("Text under a name that is no UTF-8.")
    ids, _ = read(folder)
    assert len(ids) == 8  # all but the hidden one
    assert all(one.split() == [one] and one.encode() for one in ids)


def test_a_sparse_file_of_two_gigabytes(folder: Path) -> None:
    """Is told by its size, and never opened."""
    for name in ("a.txt", "a.md", "a.html", "a.pdf"):
        with (folder / name).open("wb") as stream:
            stream.truncate(2 * 2**30)
    found, skipped = read(folder)
    assert found == ["honest.md"]
    assert sum(skipped.values()) == 4


@pytest.mark.nightly
def test_ten_thousand_tiny_files(folder: Path) -> None:
    """Are read, each a document."""
    for number in range(10_000):
        (folder / f"{number}.md").write_text(f"Document number {number}.")
    assert len(read(folder)[0]) == 10_001


def test_a_refusal_is_kept_and_can_be_cleared(folder: Path) -> None:
    """The next process need not try again what took the memory or time of this one."""
    pytest.importorskip("pypdfium2")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    for _ in range(2):
        with pytest.raises(UnreadableDocumentError, match="damaged"):
            convert_document(folder / "bad.pdf", "PDF")
    assert summarize_kept_conversions().entries == 1
    assert clear_kept_conversions() > 0
    assert summarize_kept_conversions().entries == 0


def test_a_conversion_that_never_ends_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock, where it does not even use the processor."""
    from embassay.data.documents import conversion

    program = folder.parent / "sleeper.py"
    program.write_text("import sys, time\nprint('ready', flush=True)\nsys.stdin.readline()\ntime.sleep(60)\n")
    monkeypatch.setattr(conversion, "_PROGRAM", program)
    monkeypatch.setattr(conversion, "_IMPATIENT", 0.1)
    while conversion._idle:
        conversion._idle.pop().close()
    (folder / "page.html").write_text("<p>Text.")
    with pytest.raises(UnreadableDocumentError, match="more memory or time"):
        convert_document(folder / "page.html", "HTML")
