"""Chunks by name: ours and others', counted by one tokenizer."""

from __future__ import annotations

import importlib.metadata
from importlib.util import find_spec

import pytest

from embassay.errors import ModelError, UsageError
from embassay.text import open_tokenizer
from embassay.text.splitters import (
    SPLITTERS,
    DocumentSplitSettings,
    add_headings_to_pieces,
    add_library_version_to_splitting_spec,
    locate_split_pieces,
    parse_document_splitting,
)
from embassay.text.tokenizers import token_ends

WORDS = open_tokenizer("words")
TEXT = (
    "The kettle is old. It leaks at the spout when it is full.\n\nNobody mends kettles now, since new ones cost less "
    "than an hour of a tinsmith, and so it stands on the shelf beside the lamp that does not burn. It is kept."
)
JAPANESE = "".join(f"東京の夏は第{i}回も暑い。" for i in range(20))
OTHERS = [f"{library}:{name}" for library, names in SPLITTERS.items() for name in names]
MODULES = {"chonkie": "chonkie", "langchain": "langchain_text_splitters"}


def split(spec: str, text: str = TEXT) -> list[str]:
    splitting = parse_document_splitting(spec)
    assert splitting is not None
    return [piece.text for piece in splitting.open(WORDS)(text)]


@pytest.mark.parametrize(
    "spec",
    [
        "12",
        "12+4",
        "12?context=head",
        "12+4?context=late",
        "fixed?size=12&overlap=3&context=title",
        "200?context=llm:openai:m?base_url=http://localhost:1/v1&attempts=3",
        "langchain:markdown?size=9&version=1.1.2&context=llm:ollama:gemma3:27b",
        "chonkie:sentence?size=12&overlap=4&version=1.7.0",
        "langchain:markdown?size=9",
    ],
)
def test_a_splitting_is_what_it_is_written_as(spec: str) -> None:
    assert str(parse_document_splitting(spec)) == spec
    assert parse_document_splitting(str(parse_document_splitting(spec))) == parse_document_splitting(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "0", "10+9", "twelve", "12?context=tail",
        "12?context=llm:", "fixed?size=12&version=2", "none?context=late", "12?size=3", "chonkie:semantic",
        "langchain:recursive?size=0",
        "langchain:recursive?size=-3", "langchain:recursive?sise=20", "chonkie:recursive?size=20&overlap=5", "spacy:x",
    ],
)  # fmt: skip
def test_what_is_no_splitting(spec: str) -> None:
    with pytest.raises(UsageError):
        parse_document_splitting(spec)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_others_cut_by_our_tokens(name: str) -> None:
    """No word is lost or changed, blank texts have no chunk, and where they can a chunk keeps the size."""
    library = name.partition(":")[0]
    if find_spec(MODULES[library]) is None:
        pytest.skip(f"needs {library}")
    pieces = split(f"{name}?size=12")
    assert len(pieces) > 1
    assert "".join("".join(pieces).split()) == "".join(TEXT.split())
    assert split(f"{name}?size=12", " \n ") == []
    ends = token_ends(WORDS)
    longest = max(len(ends(piece)) for piece in pieces)
    # langchain's character splitter cuts at blank lines alone, and chonkie's sentence chunker at sentences.
    assert longest <= 12 or name in ("langchain:character", "chonkie:sentence")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_langchain_by_hand() -> None:
    """What its splitter gives with the number of words as the length."""
    splitters = pytest.importorskip("langchain_text_splitters")
    theirs = splitters.RecursiveCharacterTextSplitter(
        chunk_size=12, chunk_overlap=4, length_function=lambda text: len(token_ends(WORDS)(text))
    )
    assert split("langchain:recursive?size=12&overlap=4") == theirs.split_text(TEXT)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["", "fixed", *OTHERS])
@pytest.mark.parametrize("overlap", ["", "&overlap=3"])
def test_every_chunk_has_its_place(name: str, overlap: str) -> None:
    """The text from its start to its end is its body, but for blanks; places come in order, and hold all words."""
    if name == "chonkie:recursive" and overlap:
        return
    if (library := name.partition(":")[0]) in MODULES and find_spec(MODULES[library]) is None:
        pytest.skip(f"needs {library}")
    spec = f"{name}?size=12{overlap}" if name else "12+3" if overlap else "12"
    splitting = parse_document_splitting(spec)
    assert splitting is not None
    for text in (TEXT, f"  {TEXT}\n\n\n{TEXT}  ", "one two three " * 40, JAPANESE):
        pieces = splitting.open(WORDS)(text)
        covered = bytearray(len(text))
        for piece in pieces:
            assert "".join(text[piece.start : piece.end].split()) == "".join(piece.body.split())
            assert not text[piece.start].isspace()
            covered[piece.start : piece.end] = b"1" * (piece.end - piece.start)
        assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
        if overlap and library == "langchain" and "kettle" not in text:
            continue  # where all repeats, nobody knows how much it overlapped
        assert all(hit or letter.isspace() for hit, letter in zip(covered, text, strict=True))


def test_the_naive_cut_by_hand() -> None:
    """Every four words, the next with the last one of the four before; two signs of Japanese are a word."""
    assert split("fixed?size=4", "a b c d e f") == ["a b c d", "e f"]
    assert split("fixed?size=4&overlap=1", "a b c d e f g") == ["a b c d", "d e f g"]
    assert split("fixed?size=4", " \n") == []
    assert split("fixed?size=2", "東京の夏は暑い") == ["東京の夏", "は暑い"]


def test_title_and_headings_stand_before_a_chunk() -> None:
    """Also of another's chunks, which have lost them; not where the chunk begins with the title itself."""
    text = "The shop # Hours\nIt opens at nine.\n## Holidays\nIt is closed.\n# Refunds\nIn five days."
    bodies = ["The shop # Hours\nIt opens at nine.", "It is closed.", "In five days."]
    pieces = add_headings_to_pieces(list(locate_split_pieces(text, bodies)), text, "The shop", len("The shop "))
    assert [piece.head for piece in pieces] == ["", "The shop > Holidays", "The shop > Refunds"]
    with pytest.raises(ModelError, match="no position"):
        list(locate_split_pieces(text, ["It opens at ten."]))


def test_context_is_the_first_sentence() -> None:
    """Before every chunk but the first, which has it."""
    bare, told = split("12"), split("12?context=head")
    assert told == [bare[0], *(f"The kettle is old.\n{piece}" for piece in bare[1:])]


def test_the_version_is_part_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of another version are not taken for these, and a library that is missing is told with its mend."""
    monkeypatch.setattr("embassay.text.splitters.version", lambda name: "9.9")
    assert add_library_version_to_splitting_spec("chonkie:sentence?size=20") == "chonkie:sentence?size=20&version=9.9"
    assert add_library_version_to_splitting_spec("430+70") == "430+70"
    with pytest.raises(ModelError, match=r"1\.0"):
        DocumentSplitSettings("chonkie", "sentence", 20, version="1.0").open(WORDS)

    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("embassay.text.splitters.version", absent)
    with pytest.raises(ModelError, match=r"embassay\[chunkers\]"):
        add_library_version_to_splitting_spec("langchain:recursive")
