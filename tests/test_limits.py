"""Limits: each is named, explained and raised by its own variable; sizes are read as people write them."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data.lines import open_unpacked_file
from embassay.errors import DataError, UsageError
from embassay.limits import (
    COLUMNS,
    DOCUMENT,
    LIMITS,
    TABLE,
    SizeLimit,
    format_size,
    parse_bounded_json,
    parse_json_written_by_embassay,
    parse_size,
    read_bounded_file,
)

DOCS = Path(__file__).parents[1] / "docs" / "limits.md"


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_every_limit_is_documented(limit: SizeLimit) -> None:
    """With its variable and what it is by default."""
    line = next(line for line in DOCS.read_text("utf-8").splitlines() if f"`{limit.environment_variable_name}`" in line)
    assert limit.format_limited_number(limit.usual) in line
    assert limit.why


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_a_refusal_says_how_to_allow_more(limit: SizeLimit, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says to export is read as twice as much."""
    said = limit.make_exceeded_error(Path("x"), 3)
    variable, _, value = said.mend.rpartition("export ")[2].partition("=")
    assert variable == limit.environment_variable_name
    monkeypatch.setenv(variable, value)
    assert limit.most == 2 * limit.usual


def test_a_variable_that_is_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DOCUMENT.environment_variable_name, "much")
    with pytest.raises(UsageError, match="EMBASSAY_LIMIT_DOCUMENT cannot be 'much'"):
        _ = DOCUMENT.most
    monkeypatch.setenv(DOCUMENT.environment_variable_name, " ")
    assert DOCUMENT.most == DOCUMENT.usual


@pytest.mark.parametrize(
    ("text", "number"),
    [("8GiB", 2**33), ("8 gb", 2**33), ("1.5M", 3 * 2**19), ("10,000", 10_000), ("1_000", 1000), ("7 B", 7)],
)
def test_sizes(text: str, number: int) -> None:
    assert parse_size(text) == number


@pytest.mark.parametrize("text", ["", "0", "-1", "GiB", "1 PiB", "1e9", "0.1"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="Write a size"):
        parse_size(text)


@given(st.integers(1, 2**45))
def test_a_size_that_is_shown_is_read(number: int) -> None:
    """Nothing is lost by showing it."""
    assert parse_size(format_size(number).replace(" bytes", "")) == number


def test_counts_are_shown_as_numbers() -> None:
    assert COLUMNS.format_limited_number(10_000) == "10,000"
    assert TABLE.format_limited_number(TABLE.usual) == "8 GiB"


@pytest.mark.parametrize("content", ["[" * 100 + "]" * 100, '{"a": [1e308, "😀"]}', r'"\ud83d\ude00"', "9" * 300])
def test_json_that_is_read(content: str) -> None:
    assert (
        parse_bounded_json(content)
        == parse_bounded_json(content.encode())
        == parse_json_written_by_embassay(content)
        == json.loads(content)
    )


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("[" * 101 + "]" * 101, "100 levels deep"),
        ("[" * 100_000, "100 levels deep"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "deep"),
        ("1" + "0" * 400, "401 digits"),
        ('{"a": [-1' + "0" * 400 + "]}", "digits"),
        ("1" * 5_000, "4,000 digits"),
        (r'["a\ud83d"]', "surrogate"),
        (r'{"\udc00": 1}', "surrogate"),
        ("{", "Expecting"),
    ],
)
def test_json_that_is_refused(content: str, fault: str) -> None:
    """As text and as bytes: what is no JSON, and what nothing behind can take."""
    for form in (content, content.encode()):
        with pytest.raises(ValueError, match=fault):
            parse_bounded_json(form)


def test_json_of_ours() -> None:
    """A text may hold half of a pair, and no number is infinite; what others write may hold both."""
    assert parse_json_written_by_embassay(r'"a\ud83d"') == "a\ud83d"
    for content in ("NaN", "[-Infinity]", '{"a": 1e999}'):
        parse_bounded_json(content)
        with pytest.raises(ValueError, match="not a finite number"):
            parse_json_written_by_embassay(content)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once_and_kept(tmp_path: Path) -> None:
    """Readers look at a file more than once; a slow writer is waited for."""
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("wb") as stream:
            stream.write(b"one\n")
            stream.flush()
            stream.write(b"two\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert read_bounded_file(tmp_path / "pipe") == b"one\ntwo\n"
    writer.join()
    assert read_bounded_file(tmp_path / "pipe") == b"one\ntwo\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_silent_pipe_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody ever writes: the time for reading is the limit. A dataset, which is read again, is refused at once."""
    monkeypatch.setenv("EMBASSAY_LIMIT_READING", "1")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(DataError, match="longer than allowed"):
        read_bounded_file(tmp_path / "pipe.jsonl")
    with pytest.raises(DataError, match="pipe"):
        open_unpacked_file(tmp_path / "pipe.jsonl")
