"""Chunks: every character covered, whole sentences, overlap where sentences allow, breadcrumbs."""

from __future__ import annotations

import gzip
import json
import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import Tokenizer
from embassay.errors import UsageError
from embassay.text import Breadcrumb, Chunk, Chunking, chunk, split_sentences
from embassay.text.chunking import find_code_fences, find_sentence_ends
from embassay.text.tokenizers import WordTokenizer, find_passage_token_ends, find_word_token_ends, token_ends

ANY_TEXT = st.text(st.characters(exclude_categories=()))
PIECES = ["one ", "Two ", "three. ", "Four!\r\n", "\n\n", "# A\n", "## B\n", "五。", " ", "e.g. ", "x" * 9, "😀"]
TEXTS = ANY_TEXT | st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
CHUNKINGS = st.builds(
    lambda limit, share, headings: Chunking(limit, int(limit * share), headings),
    st.integers(1, 30),
    st.floats(0, 0.5),
    st.sampled_from(["markdown", "capitals", "none"]),
)


def check(text: str, chunks: list[Chunk], chunking: Chunking) -> None:
    """What holds of the chunks of any text."""
    if not text.strip():
        assert not chunks
        return
    assert chunks[0].start == 0
    assert chunks[-1].end == len(text)
    for one, other in pairwise(chunks):
        assert one.start < other.start <= one.end < other.end
        assert (other.start < one.end) >= (other.shared > 0)
    for one in chunks:
        assert one.body == text[one.start : one.end].strip() != ""
        assert one.tokens == len(find_passage_token_ends(one.body)) <= chunking.limit
        assert 0 <= one.shared < one.tokens


@given(TEXTS, CHUNKINGS)
def test_any_text_is_covered(text: str, chunking: Chunking) -> None:
    """From the first character to the last without a gap, no chunk blank, too long or told wrong."""
    chunks = chunk(text, chunking=chunking)
    check(text, chunks, chunking)
    assert chunks == chunk(text, chunking=chunking)


@given(TEXTS, st.integers(2, 30))
def test_overlap_is_as_much_as_fits(text: str, limit: int) -> None:
    """Less than was asked for only where one more sentence would leave no room for the next one."""
    chunking = Chunking(limit, limit // 2, "none")
    ends = [0, *find_sentence_ends(text)]
    for one, other in pairwise(chunk(text, chunking=chunking)):
        if other.shared >= chunking.overlap or not {one.end, other.start} <= set(ends):
            continue  # enough, or inside a long sentence
        before, after = ends[ends.index(other.start) - 1], ends[ends.index(one.end) + 1]
        assert before < one.start or len(WordTokenizer().encode(text[before:after])) > limit


def test_whole_sentences_and_overlap() -> None:
    """A chunk begins with the last sentences of the one before, as few as have the overlap."""
    text = " ".join(f"Sentence number {n} is here." for n in range(8))  # 6 tokens each
    chunks = chunk(text, chunking=Chunking(limit=24, overlap=7))
    assert [one.body.split()[2] for one in chunks] == ["0", "2", "4"]
    assert [one.shared for one in chunks] == [0, 12, 12]
    assert all(one.body.startswith("Sentence") and one.body.endswith("here.") for one in chunks)


def test_a_long_sentence_before_a_long_one_is_not_shared() -> None:
    """Where not even one sentence would fit beside the next, there is no overlap."""
    text = "word " * 19 + "end. " + "next " * 19 + "end."
    assert [(one.tokens, one.shared) for one in chunk(text, chunking=Chunking(limit=30, overlap=5))] == [
        (21, 0),
        (21, 0),
    ]


def test_one_giant_sentence_is_split_evenly() -> None:
    """At token boundaries, with the overlap that the parts allow."""
    text = "word " * 1000
    chunks = chunk(text)
    check(text, chunks, Chunking())
    assert [one.shared for one in chunks[1:]] == [pytest.approx(71, abs=1)] * (len(chunks) - 1)
    assert all(one.body.split() == ["word"] * one.tokens for one in chunks)
    assert {one.tokens for one in chunk(text, chunking=Chunking(overlap=0))} == {333, 334}


def test_sections_are_not_mixed() -> None:
    """A chunk is in one section, says which in its breadcrumb, and the heading stays in its text."""
    chunks = chunk("Intro here.\n\n# Method\nHow.\n\n## Data\nWhat.\n", Breadcrumb(title="On jets"))
    assert [one.text for one in chunks] == [
        "On jets\nIntro here.",
        "Method > On jets\n# Method\nHow.",
        "Method > Data > On jets\n## Data\nWhat.",
    ]
    assert not any(one.shared for one in chunks)


def test_breadcrumb_is_one_line_of_what_there_is() -> None:
    """Fields that are missing leave no signs behind, line breaks none either."""
    assert str(Breadcrumb()) == ""
    assert str(Breadcrumb(title="A\n title", date="1961")) == "A title, 1961"
    assert str(Breadcrumb("p", ("s",), authors="A. Lee")) == "p > s > A. Lee"
    assert chunk("Text.")[0].text == "Text."


@pytest.mark.parametrize("text", ["", " \r\n\t ", "\ufeff"])
def test_blank_texts(text: str) -> None:
    """A text of nothing but whitespace has no chunk; a lone mark is a text."""
    assert len(chunk(text)) == len(text.strip())


def test_empty_lines_are_no_passage() -> None:
    """Ten thousand of them join the chunk before, with tokens that count whitespace too."""

    class Blanks(WordTokenizer):
        name = "blanks"

        def pieces(self, text: str) -> list[bytes]:
            return [letter.encode() for letter in text]

    for text in ("\n" * 900 + "One.", "One." + "\n" * 900 + "Two."):
        chunks = chunk(text, chunking=Chunking(10, 2), ends=token_ends(Blanks()))
        assert [one.body for one in chunks] == [part for part in text.split("\n") if part]
        assert (chunks[0].start, chunks[-1].end) == (0, len(text))


@pytest.mark.parametrize(("limit", "overlap"), [(0, 0), (10, 6), (10, -1)])
def test_impossible_settings(limit: int, overlap: int) -> None:
    """They are refused with the mend."""
    with pytest.raises(UsageError, match="overlap from 0 to half the limit"):
        Chunking(limit, overlap)


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("unit", ["word ", "a. ", "\n", "# a\n", ".", "字", "A.\n\n"])
def test_takes_linear_time(unit: str) -> None:
    """200,000 characters of anything are cut, with no character lost."""
    text = unit * (200_000 // len(unit))
    chunks = chunk(text)
    assert max((one.end for one in chunks), default=0) <= len(text)
    assert all(one.body == text[one.start : one.end].strip() for one in chunks)


def test_counts_tokens_as_told() -> None:
    """The counter is pluggable: here, a token per character."""
    import numpy as np

    chunks = chunk("One two. Three.", chunking=Chunking(9, 0), ends=lambda text: np.arange(1, len(text) + 1))
    assert [one.body for one in chunks] == ["One two.", "Three."]
    assert len(find_word_token_ends("One two. Three.")) == 5


@pytest.mark.parametrize(("unit", "characters"), [("x", 8_000), ("我们在这里学习。", 400), ("word ", 1_000)])
def test_no_text_is_one_passage(unit: str, characters: int) -> None:
    """Data without a blank is cut, and a language without blanks into passages that say as much as those of others."""
    text = unit * 20_000
    chunks = chunk(text, chunking=Chunking(200, 0))
    assert max(len(one.body) for one in chunks) <= characters
    assert "".join(one.body for one in chunks).replace(" ", "") == text.replace(" ", "")


@pytest.mark.shared
def test_on_150_articles(shared: Path) -> None:
    """Every character covered, 70 tokens or more shared wherever the section is the same, and the sizes of docs."""
    with gzip.open(shared / "summarization" / "sumpubmed_150.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    words = WordTokenizer()
    candidates, shared_tokens = [], []
    for row in rows:
        chunks = chunk(row["text"], Breadcrumb(paper=row["id"]))
        check(row["text"], chunks, Chunking())
        question = len(words.encode(split_sentences(row["short_summary"])[0]))
        candidates += [question + len(words.encode(one.text)) for one in chunks]
        shared_tokens += [one.shared for one in chunks[1:]]
    assert len(candidates) == 2262
    assert min(shared_tokens) >= 70
    assert statistics.mean(candidates) == pytest.approx(435.8, abs=0.1)
    assert statistics.stdev(candidates) == pytest.approx(45.7, abs=0.1)


@pytest.mark.shared
def test_on_articles_by_section(shared: Path) -> None:
    """With their headings in capitals, chunks name their section, and only between sections nothing is shared."""
    with gzip.open(shared / "summarization" / "sumpubmed_150.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    chunking = Chunking(headings="capitals")
    for row in rows:
        chunks = chunk(row["text"], chunking=chunking)
        check(row["text"], chunks, chunking)
        for one, other in pairwise(chunks):
            assert (other.shared >= 70) == (one.breadcrumb == other.breadcrumb)


@pytest.mark.shared
def test_on_articles_with_cl100k(shared: Path, cl100k: Tokenizer) -> None:
    """Another tokenizer's tokens limit as well; a body by itself has nearly the tokens it has in its document."""
    ends, limit = token_ends(cl100k), Chunking().limit
    with gzip.open(shared / "summarization" / "sumpubmed_150.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for _, line in zip(range(10), file, strict=False)]
    for text in texts:
        for one in chunk(text, ends=ends):
            assert one.tokens <= limit
            assert abs(len(cl100k.encode(one.body)) - one.tokens) <= 4


def test_fenced_code_is_not_cut_where_it_fits() -> None:
    """Full stops and blank lines within end no passage; what is longer than a passage is cut as ever."""
    code = "```python\nprint(1). \n\nprint(2). \n\nprint(3).\n```\n"
    text = "One two three. Four five six.\n\n" + code + "\nSeven eight nine. Ten eleven twelve."
    cut = chunk(text, chunking=Chunking(limit=25, overlap=0))
    assert [code.strip() in one.body for one in cut].count(True) == 1
    assert all(one.body.count("```") in (0, 2) for one in cut)
    assert "".join(text[one.start : one.end] for one in cut) == text
    assert len(chunk(text, chunking=Chunking(limit=5, overlap=0))) > len(cut)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("~~~\n```\n~~~\n", [(0, 11)]), ("````\n```\n````", [(0, 13)]), ("```\nnever closed", [(0, 16)]),
        ("a ``` b", []), ("```a\n```\n\n   ```\nx\n   ```", [(0, 8), (10, 25)]),
    ],
)  # fmt: skip
def test_fences(text: str, places: list[tuple[int, int]]) -> None:
    assert find_code_fences(text) == places
