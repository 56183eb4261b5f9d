"""A reranker behind the cache: asked only for what is missing, and nothing finished is lost."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embassay.errors import BudgetExceeded, ModelError
from embassay.runs.store import CachedReranker, RerankScoreCache
from embassay.systems.rerankers import RERANKERS
from embassay.systems.rerankers.cohere import CohereReranker
from embassay.systems.rerankers.jina import JinaReranker
from embassay.systems.rerankers.overlap import OverlapReranker


class Lengths:
    """A pairwise reranker that notes its calls: the length of a document less that of the query."""

    name = "lengths"
    pairwise = True

    def __init__(self, identity="lengths/1", chunk_size=64):
        self.identity, self.chunk_size = identity, chunk_size
        self.calls = []

    def score(self, query, documents):
        self.calls.append((query, list(documents)))
        return np.array([len(one) - len(query) for one in documents], dtype=np.float32)


class Failing(Lengths):
    """Works for so many calls, then raises."""

    def __init__(self, works, error):
        super().__init__(chunk_size=2)
        self.works, self.error = works, error

    def score(self, query, documents):
        if len(self.calls) == self.works:
            raise self.error
        return super().score(query, documents)


@pytest.fixture
def cache(tmp_path):
    opened = RerankScoreCache.open(tmp_path / "pairs.sqlite")
    yield opened
    opened.close()


def test_only_what_is_missing_is_asked(cache):
    """A deeper list asks for what the shallow one did not have, in any order, each document once."""
    reranker = Lengths()
    cached = CachedReranker(reranker, cache)
    assert cached.missing("q", ["aa", "b", "b"]) == 2
    assert cached.score("q", ["aa", "b", "b"]).tolist() == [1, 0, 0]
    assert cached.missing("q", ["cccc", "b"]) == 1
    assert cached.score("q", ["cccc", "b", "aa"]).tolist() == [3, 0, 1]
    assert cached.score("p", ["b"]).tolist() == [0]
    assert reranker.calls == [("q", ["aa", "b"]), ("q", ["cccc"]), ("p", ["b"])]
    assert (cached.counts.computed, cached.counts.found) == (4, 2)
    assert cached.score("q", []).shape == (0,)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists=st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=4), size=st.integers(1, 4))
def test_scores_are_those_of_the_reranker(cache, lists, size):
    """Whatever was kept before, to the bit; and nothing is asked for twice."""
    cache.clear()
    reranker = Lengths(chunk_size=size)
    cached = CachedReranker(reranker, cache)
    for documents in lists:
        expected = Lengths().score("q", documents)
        assert cached.score("q", documents).tobytes() == expected.tobytes()
    asked = [document for _, call in reranker.calls for document in call]
    assert len(asked) == len(set(asked)) == cached.counts.computed
    assert all(len(call) <= size for _, call in reranker.calls)


def test_another_reranker_has_scores_of_its_own(cache):
    """By identity, not by name."""
    CachedReranker(Lengths(), cache).score("q", ["a"])
    other = CachedReranker(Lengths("lengths/2"), cache)
    other.score("q", ["a"])
    assert (other.counts.computed, other.counts.found) == (1, 0)


@pytest.mark.parametrize("error", [ModelError("gone"), BudgetExceeded("spent")])
def test_what_was_scored_before_an_error_is_kept(cache, error):
    """The next run starts where this one stopped."""
    with pytest.raises(type(error)):
        CachedReranker(Failing(2, error), cache).score("q", list("abcdef"))
    resumed = CachedReranker(again := Lengths(), cache)
    resumed.score("q", list("abcdef"))
    assert again.calls == [("q", ["e", "f"])]
    assert (resumed.counts.computed, resumed.counts.found) == (2, 4)


@pytest.mark.parametrize("bad", [[0.5], [0.5, float("nan")], [[0.5], [0.5]]])
def test_nonsense_is_neither_given_nor_kept(cache, bad):
    """One finite score for each document, or an error."""
    reranker = Lengths()
    reranker.score = lambda query, documents: np.array(bad)
    with pytest.raises(ModelError, match="one finite score"):
        CachedReranker(reranker, cache).score("q", ["a", "b"])
    assert cache.summarise_cache_contents().entries == 0


def test_scores_that_depend_on_the_list_are_kept_by_list(cache):
    """The rarity of a word is that among the candidates: a part of a list is another list."""
    cached = CachedReranker(OverlapReranker(), cache)
    documents = ["a red fox", "a fox", "a hen"]
    for asked in (documents, documents[:2], documents[::-1], documents):
        assert cached.score("red fox", asked).tobytes() == OverlapReranker().score("red fox", asked).tobytes()
    assert (cached.counts.computed, cached.counts.found) == (8, 3)
    assert cached.missing("red fox", documents) == 0
    assert cached.missing("red fox", documents[:1]) == 1


def test_blank_documents_come_last_as_without_a_cache(cache):
    """Where the reranker puts them below all others of the call, they get no score that is kept."""
    reranker = Lengths()
    reranker.skips_blank = True
    cached = CachedReranker(reranker, cache)
    assert cached.score("query", ["", "aa", " "]).tolist() == [-4, -3, -4]
    assert cached.score("query", ["", "a"]).tolist() == [-5, -4]
    assert cached.score("query", [" "]).tolist() == [0]
    assert cached.missing("query", [" ", "aa"]) == 0


def test_every_reranker_says_whether_its_scores_stand_alone(monkeypatch):
    """Without the attribute a plugin's are kept by list, which is safe; ours say it."""
    from importlib import import_module

    for entry in RERANKERS:
        module, _, attribute = entry.factory.partition(":")
        assert isinstance(getattr(import_module(module), attribute).pairwise, bool), entry.name
    monkeypatch.setenv("JINA_API_KEY", "none")
    assert JinaReranker("jina-reranker-v2-base-multilingual").pairwise
    assert not JinaReranker("jinaai/jina-reranker-v3").pairwise
    assert CohereReranker.skips_blank


SCORER = """
import sys, time
import numpy as np
from embassay.runs.store import CachedReranker
from embassay.runs.store import RerankScoreCache

class Slow:
    name = identity = "slow"
    pairwise = True
    chunk_size = 4
    def score(self, query, documents):
        time.sleep(0.002)
        return np.array([float(one) for one in documents], dtype=np.float32)

cached = CachedReranker(Slow(), RerankScoreCache.open(sys.argv[1]))
for query in range(int(sys.argv[2])):
    assert cached.score(str(query), [str(d) for d in range(20)]).tolist() == list(range(20))
    print(query, flush=True)
print("computed", cached.counts.computed, "found", cached.counts.found)
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_had(tmp_path):
    """kill -9 in the middle: every finished query is found by the next, and the file is sound."""
    path = tmp_path / "pairs.sqlite"
    process = subprocess.Popen([sys.executable, "-c", SCORER, str(path), "100000"], stdout=subprocess.PIPE, text=True)
    for _ in range(30):
        finished = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    cache = RerankScoreCache.open(path)
    assert cache._fetch_all_rows("PRAGMA integrity_check") == [("ok",)]
    slow = Lengths("slow")
    cached = CachedReranker(slow, cache)
    for query in range(finished + 1):
        assert cached.score(str(query), [str(d) for d in range(20)]).tolist() == list(range(20))
    assert slow.calls == []
    assert cached.counts.found == 20 * (finished + 1)
    cache.close()


@pytest.mark.slow
def test_two_processes_share_the_file(tmp_path):
    """Both are right, neither waits for ever, and each pair is there once in the end."""
    path = tmp_path / "pairs.sqlite"
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", SCORER, str(path), "60"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    said = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    cache = RerankScoreCache.open(path)
    assert dict(cache.summarise_cache_contents().rerankers) == {"slow": 60 * 20}
    cache.close()
