"""Folders of documents: what is read, what is left out and counted, and passages that know where they are from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import open_dataset
from embassay.data.documents import Document, FolderPassageSource, split_into_passages
from embassay.data.documents.folder import format_path_as_id, survey_document_folder
from embassay.data.documents.passages import parse_chunking_options
from embassay.errors import DataError, UsageError
from embassay.text.chunking import Chunking

GUIDE = """---
title: The guide
lang: en_GB
author: A. Lee
---
# The guide

Bread is baked at night. It is sold in the morning.

## Refunds

A refund takes five days, and is asked for in the shop.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A guide, a page, a note in an old encoding, and things that are no documents."""
    own = tmp_path / "own"
    (own / "sub dir").mkdir(parents=True)
    (own / "guide.md").write_text(GUIDE)
    (own / "page.html").write_text(
        "<html lang='de'><title>Haus</title><nav>Menü</nav><h1>Haus</h1><p>Ein Haus steht am Wasser.</p>"
    )
    (own / "sub dir" / "note.txt").write_bytes(
        "Der Bär geht über die Brücke, und die Vögel hören auf zu singen. Später fährt er zurück.".encode("cp1252")
    )
    (own / "copy.md").write_text("Bread is baked at night, as everybody knows by now.\n")
    (own / "copy2.txt").write_text("Bread is baked at night, as everybody knows by now.")
    (own / ".secret.md").write_text("hidden")
    (own / ".git").mkdir()
    (own / ".git" / "config").write_text("hidden")
    (own / "photo.png").write_bytes(b"\x89PNG\0")
    (own / "data").write_bytes(b"\0\1\2")
    (own / "all.zip").write_bytes(b"PK")
    (own / "none.md").write_text("")
    (own / "blank.md").write_text(" \n\n")
    return own


def counted(dataset: object) -> dict[str, int]:
    return {one.reason: one.count for one in dataset.skipped}  # type: ignore[attr-defined]


def test_what_is_read_and_what_is_left_out_is_counted(folder: Path) -> None:
    """Every file is a document or has a reason."""
    dataset = open_dataset(str(folder))
    source = dataset.parts["corpus"].source  # type: ignore[attr-defined]
    assert source.folder_contents.documents == {"HTML": 1, "Markdown": 2, "text": 1}
    assert counted(dataset) == {
        "hidden files and folders": 2, "files that are not documents": 1, "archives, which are not unpacked": 1,
        "empty files": 1, "documents without text": 1, "copies of another document": 1, "files without text": 1,
    }  # fmt: skip
    assert dataset.load("documents").skipped[: len(dataset.skipped)] == dataset.skipped
    assert dataset.shapes() == ("documents",)


def test_a_passage_is_a_span_of_its_document(folder: Path) -> None:
    """Document, start and end give the passage's text back; front matter, headings and language go along."""
    source = open_dataset(str(folder)).parts["corpus"].source  # type: ignore[attr-defined]
    texts = {one.id: one.text for one in source.read_documents()}
    rows = list(source.rows(source.columns()))
    assert [row.cells["id"] for row in rows] == [
        "copy.md#1", "guide.md#1", "guide.md#2", "page.html#1", "sub%20dir/note.txt#1",
    ]  # fmt: skip
    for row in rows:
        cells = row.cells
        assert texts[cells["document"]][cells["start"] : cells["end"]] == cells["text"]
    refunds = rows[2].cells
    assert (refunds["title"], refunds["author"], refunds["lang"]) == ("The guide > Refunds", "A. Lee", "en-GB")
    assert rows[3].cells["lang"] == "de"
    assert "Menü" not in rows[3].cells["text"]
    assert "Bär" in rows[4].cells["text"]


def test_what_a_browser_saves_beside_a_page_is_no_document(tmp_path: Path) -> None:
    """Its folder has advertisements in frames of their own; one of that name without a page is read."""
    own = tmp_path / "own"
    for name in ("Wiki – Rye_files", "alone_files"):
        (own / name).mkdir(parents=True)
        (own / name / "ads.html").write_text(f"<p>An advertisement in {name} asks you to buy bread.")
    (own / "Wiki – Rye.html").write_text("<h1>Rye</h1><p>Rye keeps for a week in a dry place.")
    dataset = open_dataset(str(own))
    assert counted(dataset) == {"asset folders of saved web pages": 1}
    texts = dataset.load("documents").data.texts
    assert len(texts) == 2
    assert not any("Rye_files" in text for text in texts)


def test_links_are_never_followed(folder: Path, tmp_path: Path) -> None:
    """Neither to a file or folder outside nor to one inside; each is counted."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("Nobody must read this.")
    (folder / "out.md").symlink_to(outside / "secret.md")
    (folder / "dir").symlink_to(outside)
    (folder / "in.md").symlink_to(folder / "guide.md")
    (folder / "round").symlink_to(folder)
    dataset = open_dataset(str(folder))
    assert counted(dataset)["symbolic links, which are never followed"] == 4
    assert not any("Nobody" in text for text in dataset.load("documents").data.texts)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_folder_that_may_not_be_read_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in it would be missing, and nobody told."""
    scanned = os.scandir

    def refusing(path: str) -> object:
        if os.fspath(path).endswith("sub dir"):
            raise PermissionError(13, "Permission denied", path)
        return scanned(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = survey_document_folder(folder)
    assert "sub%20dir/note.txt" not in {one.id for one in found.entries}
    left = {one.reason: (one.count, one.examples) for one in open_dataset(folder).load("documents").skipped}
    assert list(left).index("folders that cannot be read") < list(left).index("hidden files and folders")
    assert left["folders that cannot be read"] == (1, ("sub%20dir",))


def test_what_is_no_regular_file_is_not_opened(folder: Path) -> None:
    """Reading a pipe would wait for ever."""
    os.mkfifo(folder / "pipe.md")
    assert counted(open_dataset(str(folder)))["pipes, devices and sockets"] == 1


def test_the_fingerprint_depends_on_names_texts_and_chunks(folder: Path, tmp_path: Path) -> None:
    """Not on where the folder lies."""
    first = open_dataset(str(folder)).fingerprint
    moved = folder.rename(tmp_path / "moved")
    assert open_dataset(str(moved)).fingerprint == first
    assert open_dataset(f"{moved}?chunk=5").fingerprint != first
    (moved / "guide.md").rename(moved / "guide2.md")
    assert open_dataset(str(moved)).fingerprint != first


def test_a_large_folder_is_not_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again, and gives the same passages."""
    small = FolderPassageSource(folder)
    rows = list(small.rows(small.columns()))
    monkeypatch.setattr("embassay.data.documents.passages.IN_MEMORY", 10)
    large = FolderPassageSource(folder)
    assert list(large.rows(large.columns())) == rows
    (folder / "guide.md").write_text(" ")
    with pytest.raises(DataError, match=r"guide.md.*changed"):
        list(large.rows(["id"]))


def test_files_above_the_limit_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And named as such; the limit is the one that the variable says."""
    monkeypatch.setenv("EMBASSAY_LIMIT_PROSE", "100")
    assert counted(open_dataset(str(folder)))["files larger than 100 bytes"] == 1


def test_a_folder_of_tables_stays_one(tmp_path: Path) -> None:
    """Names of BEIR's layout win over documents; a folder of neither says what is wanted."""
    (tmp_path / "readme.md").write_text("About the tables.")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "t"}\n')
    with pytest.raises(DataError, match="queries"):
        open_dataset(str(tmp_path))
    (tmp_path / "corpus.jsonl").unlink()
    assert len(open_dataset(str(tmp_path)).load("documents").data) == 1
    (tmp_path / "readme.md").write_text("")
    with pytest.raises(DataError, match=r"no readable documents.*empty files: 1"):
        open_dataset(str(tmp_path))


def test_documents_can_be_the_corpus_of_a_judged_set(folder: Path, tmp_path: Path) -> None:
    """In a folder `corpus` beside questions and judgements of its passages."""
    own = tmp_path / "set"
    own.mkdir()
    folder.rename(own / "corpus")
    (own / "queries.jsonl").write_text('{"_id": "q", "text": "When is bread baked?"}\n')
    (own / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tguide.md#1\t1\n")
    loaded = open_dataset(str(own)).load("retrieval")
    assert loaded.data.qrels == {"q": {"guide.md#1": 1.0}}
    assert loaded.data.corpus.ids[1] == "guide.md#1"
    assert ("empty files", 1) in [(one.reason, one.count) for one in loaded.skipped]


@pytest.mark.parametrize("query", ["chunk=x", "chunk=0", "size=3", "", "chunk=10&overlap=9"])
def test_wrong_chunks_are_refused(query: str) -> None:
    with pytest.raises(UsageError):
        parse_chunking_options(query, f"docs?{query}")


def test_options_of_tables_are_refused(folder: Path) -> None:
    """A folder of documents has no columns to map and no splits."""
    with pytest.raises(UsageError, match="--map cannot be used"):
        open_dataset(str(folder), mapping={"text": "body"})


@pytest.mark.parametrize(
    ("name", "shown"), [("a b/c#d%.md", "a%20b/c%23d%25.md"), ("tab\there", "tab%09here"), ("größe.md", "größe.md")]
)
def test_ids_can_stand_in_a_run(name: str, shown: str) -> None:
    assert format_path_as_id(name) == shown
    assert shown.split() == [shown]


@given(st.text("ab. \n#", max_size=300), st.integers(1, 12))
def test_passages_cover_all_but_whitespace(text: str, limit: int) -> None:
    """In order, without overlap, and each is its span; a heading is in the title of what stands under it, once."""
    document = Document("d", Path("d"), "Markdown", "", "", text)
    found = list(split_into_passages(document, Chunking(limit, 0)))
    assert all(text[one.start : one.end] == one.body for one in found)
    covered = {place for one in found for place in range(one.start, one.end)}
    assert sum(one.end - one.start for one in found) == len(covered)
    left = "".join(sign if place not in covered else "\n" for place, sign in enumerate(text)).split("\n")
    titles = {title for one in found for title in one.section.split(" > ")}
    assert all(line.strip().strip("#").strip() in titles for line in left if line.strip())


def test_the_survey_opens_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds are told by names."""
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("opened"))
    found = survey_document_folder(folder)
    assert [one.kind for one in found.entries if one.path.suffix == ".html"] == ["HTML"]


def test_what_is_for_programs_is_left_out_and_counted(tmp_path: Path) -> None:
    """Licences, lock files, CNAME and templates; a guide to licence keys and a page showing one are read."""
    page = "<html><body><p>Tides turn twice.</p>%s</body></html>"
    for name, text in {
        "CNAME": "docs.example.org", "LICENSE": "Permission is granted", "LICENSE-MIT.txt": "Permission",
        "COPYING": "x", "requirements-dev.txt": "numpy==2", "robots.txt": "User-agent: *", "poetry.lock": "x",
        "yarn.lock": "x",
        "base.html": page % "{% extends 'x' %}", "list.html": page % "{{ range .Pages }}",
        "old.html": page % "<?php x ?>",
        "page.html": page % "<pre>{% for x in y %}</pre>", "licences.md": "# Which licence", "README": "Read this.",
        "license-keys.md": "How keys are made.", "Makefile": "all:",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    found = FolderPassageSource(tmp_path).folder_contents
    assert found.ids == {"page.html", "README", "license-keys.md"}
    left = {skip.reason.partition(",")[0]: skip.count for skip in found.skipped}
    assert left == {
        "licences": 4, "files for programs": 4, "page templates": 3, "files that are not documents": 2,
    }  # fmt: skip
