"""`embassay cache` over all caches."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pytest

from embassay.contracts import Completion, Usage
from embassay.data import corpus as gathering
from embassay.data import open_dataset
from embassay.runs.embeddings import EmbeddingCache
from embassay.runs.store import ChatAnswerCache, RerankScoreCache
from embassay.search.indexes import open_index

KEY = b"k" * 32


@pytest.fixture
def filled(tmp_path):
    """A folder of caches with something of one encoder, one language model and two rerankers; as environment."""
    folder = tmp_path / "caches"
    vectors = EmbeddingCache.open(folder / EmbeddingCache.file)
    vectors.write(KEY, "e:1", np.ones((3, 2), dtype=np.float32))
    answers = ChatAnswerCache.open(folder / ChatAnswerCache.file)
    answers.write(KEY, "m:1", Completion("four", None, Usage(), "m", "stop"))
    pairs = RerankScoreCache.open(folder / RerankScoreCache.file)
    pairs.write("r:1", {KEY: np.ones(1, dtype=np.float32)})
    pairs.write("s:1", {b"2" * 32: np.ones(5, dtype=np.float32)})
    for one in (vectors, answers, pairs):
        one.close()
    return {"EMBASSAY_CACHE": str(folder)}


def kept(embassay, env):
    found = json.loads(embassay("cache", "info", "--json", env=env).stdout)
    return found["encoders"], found["answers"]["models"], found["pairs"]["rerankers"]


def test_info_tells_what_each_holds(embassay, filled):
    """By model, in figures and for people."""
    assert kept(embassay, filled) == ({"e:1": 3}, {"m:1": 1}, {"r:1": 1, "s:1": 5})
    out = embassay("cache", "info", env=filled).stdout
    for line in ("3 texts  e:1", "1 answers  m:1", "1 scores  r:1", "5 scores  s:1", "2 entries"):
        assert line in out


def test_clear_empties_what_is_named_or_all(embassay, filled):
    """One reranker's scores, an encoder's vectors and a model's answers, then the rest."""
    assert "MB freed" in embassay("cache", "clear", "--reranker", "s", env=filled).stdout
    assert kept(embassay, filled) == ({"e:1": 3}, {"m:1": 1}, {"r:1": 1})
    embassay("cache", "clear", "--encoder", "e", "--llm", "m", env=filled)
    assert kept(embassay, filled) == ({}, {}, {"r:1": 1})
    embassay("cache", "clear", env=filled)
    assert kept(embassay, filled) == ({}, {}, {})


def test_clearing_what_is_not_there_is_a_mistake(embassay, filled):
    """And nothing else is cleared."""
    done = embassay("cache", "clear", "--encoder", "e", "--reranker", "x", env=filled, check_code=2)
    assert "nothing for 'x' (--reranker)" in done.stderr
    assert kept(embassay, filled) == ({"e:1": 3}, {"m:1": 1}, {"r:1": 1, "s:1": 5})


def test_indexes_are_shown_and_cleared_by_themselves(embassay, filled, tmp_path):
    """By kind; what else is kept stays."""
    vectors = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    pytest.importorskip("faiss")
    open_index("hnsw-f32", vectors, folder=tmp_path / "caches" / "indexes").close()
    assert "1 of kind hnsw-f32" in embassay("cache", "info", env=filled).stdout
    assert "MB freed" in embassay("cache", "clear", "--indexes", env=filled).stdout
    assert "0 indexes, 0.0 MB" in embassay("cache", "info", env=filled).stdout
    assert kept(embassay, filled) == ({"e:1": 3}, {"m:1": 1}, {"r:1": 1, "s:1": 5})


def test_corpora_are_shown_and_cleared_by_themselves(embassay, filled, tmp_path, monkeypatch):
    """By file, damaged ones too, with what a killed process left; what else is kept stays."""
    monkeypatch.setenv("EMBASSAY_CACHE", filled["EMBASSAY_CACHE"])
    monkeypatch.setattr(gathering, "IN_MEMORY", 100)
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("text\n" + "".join(f"{name} {n}\n" for n in range(50)))
        open_dataset(str(tmp_path / f"{name}.csv")).load("documents")
    folder = tmp_path / "caches" / "corpora"
    next(folder.glob("*/texts")).write_bytes(b"")
    (folder / ".killed.part").mkdir()
    (folder / ".killed.part" / "texts").write_bytes(b"half")
    out = embassay("cache", "info", env=filled).stdout
    assert "2 corpora" in out
    assert out.count("50 documents of ") == out.count("MB damaged") == 1
    told = json.loads(embassay("cache", "info", "--json", env=filled).stdout)["corpora"]
    assert sorted(one["documents"] or 0 for one in told["corpora"]) == [0, 50]
    assert "MB freed" in embassay("cache", "clear", "--corpora", env=filled).stdout
    assert not list(folder.glob("**/texts"))
    assert "0 corpora, 0.0 MB" in embassay("cache", "info", env=filled).stdout
    assert kept(embassay, filled) == ({"e:1": 3}, {"m:1": 1}, {"r:1": 1, "s:1": 5})


@pytest.mark.slow
def test_three_runs_share_a_cache_at_once(tmp_path, warm):
    """Processes that make and fill the same new file end with equal results, and the file is sound."""
    env = {**os.environ, "EMBASSAY_CACHE": str(tmp_path / "cache")}
    words = ["sage", "run", "-s", "wordllama", "--tokenizer", "words", "--limit", "12", "--resamples", "100",
             "-t", "robustness", "-t", "clustering", "--out"]  # fmt: skip
    runs = [tmp_path / str(number) for number in range(3)]
    started = [
        subprocess.Popen([*warm.command, *words, str(one)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for one in runs
    ]  # fmt: skip
    said = [one.communicate(timeout=600)[1].decode() for one in started]
    assert [one.returncode for one in started] == [0, 0, 0], said
    assert not [text for text in said if "Warning" in text]
    first, *others = [(one / "results.jsonl").read_bytes() for one in runs]
    assert others == [first, first]
    with closing(sqlite3.connect(tmp_path / "cache" / EmbeddingCache.file)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
