"""The answer cache: what is kept is what was answered, or it is asked again."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from embassay.contracts import ChatMessage, Completion, SamplingSettings, Usage
from embassay.runs.store import ChatAnswerCache, make_answer_cache_key

KEY = b"k" * 32
ANSWER = Completion("four", None, Usage(10, 1, 2, 0.25), "m-2026", "stop")
ASK = [ChatMessage("user", "2 + 2?")]


class Grade(BaseModel):
    grade: int


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "answers.sqlite"


@pytest.fixture
def cache(path):
    opened = ChatAnswerCache.open(path)
    yield opened
    opened.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(), usd=st.none() | st.floats(0, 10), tokens=st.integers(0, 10**9))
def test_what_is_written_is_read_back(cache, text, usd, tokens):
    """Any text; a second write does not replace the first."""
    answer = Completion(text, None, Usage(tokens, tokens, 1, usd), "m", "stop")
    cache.drop(KEY)
    cache.write(KEY, "m:1", answer)
    cache.write(KEY, "m:1", ANSWER)
    assert cache.read(KEY) == answer


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answers SET answer = '{}'",
        "UPDATE answers SET checksum = zeroblob(16)",
        "UPDATE answers SET key = zeroblob(32)",
    ],
)
def test_a_damaged_row_is_dropped(cache, path, damage):
    """It is asked again, and can be written anew."""
    cache.write(KEY, "m:1", ANSWER)
    with sqlite3.connect(path) as other:
        other.execute(damage)
    other.close()
    assert cache.read(KEY) is None
    assert cache.read(b"\0" * 32) is None
    assert cache.summarise_cache_contents().entries == 0
    cache.write(KEY, "m:1", ANSWER)
    assert cache.read(KEY) == ANSWER


def test_the_key_holds_all_that_an_answer_depends_on():
    """Model, messages and who says them, sampling, schema, and the number of the draw."""
    keys = [
        make_answer_cache_key("a", ASK, SamplingSettings(), None, 0),
        make_answer_cache_key("b", ASK, SamplingSettings(), None, 0),
        make_answer_cache_key("a", [ChatMessage("system", "2 + 2?")], SamplingSettings(), None, 0),
        make_answer_cache_key("a", [ChatMessage("user", "2 + 2? \ud800")], SamplingSettings(), None, 0),
        make_answer_cache_key("a", ASK, SamplingSettings(seed=1), None, 0),
        make_answer_cache_key("a", ASK, SamplingSettings(temperature=0.0), None, 0),
        make_answer_cache_key("a", ASK, SamplingSettings(), Grade, 0),
        make_answer_cache_key("a", ASK, SamplingSettings(), None, 1),
    ]
    assert len(set(keys)) == len(keys)
    assert make_answer_cache_key("a", ASK, SamplingSettings(), Grade, 0) == keys[6]


def test_info_and_clear(cache):
    """By model; by identity or its beginning."""
    for number, model in enumerate(["a:1", "a:2", "ab:1"]):
        cache.write(bytes([number]) * 32, model, ANSWER)
    info = cache.summarise_cache_contents()
    assert (info.entries, dict(info.models)) == (3, {"a:1": 1, "a:2": 1, "ab:1": 1})
    cache.clear("a")
    assert dict(cache.summarise_cache_contents().models) == {"ab:1": 1}
    cache.clear()
    assert cache.summarise_cache_contents().entries == 0


def test_a_cache_that_cannot_be_written_costs_one_warning(cache):
    """What was kept before is still read."""
    cache.write(KEY, "m:1", ANSWER)
    cache._connection.execute("PRAGMA query_only = 1")
    with pytest.warns(RuntimeWarning, match="answer cache .* cannot be written"):
        cache.write(b"2" * 32, "m:1", ANSWER)
    cache.write(b"3" * 32, "m:1", ANSWER)
    assert cache.read(KEY) == ANSWER


@pytest.mark.slow
def test_a_killed_writer_leaves_a_sound_file(path):
    """kill -9 while writing: every answer that was written is there, whole."""
    code = (
        "import sys; from embassay.runs.store import ChatAnswerCache\n"
        "from embassay.contracts import Completion, Usage\n"
        "cache = ChatAnswerCache.open(sys.argv[1])\n"
        "for i in range(10**6):\n"
        "    cache.write(i.to_bytes(32, 'big'), 'm:1', Completion(str(i) * 100, None, Usage(), 'm', 'stop'))\n"
        "    print(i, flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    for _ in range(200):
        written = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    opened = ChatAnswerCache.open(path)
    assert all(opened.read(i.to_bytes(32, "big")).text == str(i) * 100 for i in range(written + 1))
    assert opened._fetch_all_rows("PRAGMA integrity_check") == [("ok",)]
    opened.close()
