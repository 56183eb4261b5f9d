"""pgvector in a real server: what it finds, what it keeps, and what happens when it goes away."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.search import exact_search
from embassay.search.indexes import open_index

pytest.importorskip("psycopg")
pytest.importorskip("pgvector")


@pytest.fixture
def opened(server):
    """Open an index by the parameters of its spec string; all are closed in the end."""
    made = []

    def make(vectors, spec="pgvector"):
        made.append(open_index(spec, vectors))
        return made[-1]

    yield make
    for one in made:
        one.close()


def recall(found, exact, k=10):
    """The share of the exact best k that is among the best k found."""
    return np.mean(
        [len(set(a[:k]) & set(b[:k])) / k for a, b in zip(found.indices.tolist(), exact.indices.tolist(), strict=True)]
    )


def test_a_scan_is_exact_search(opened, corpus, queries):
    """The same ids, equal vectors by position; the same scores, in shards or in one piece."""
    exact = exact_search(queries, corpus, 30)
    for given in (corpus, [corpus[:10], corpus[10:11], corpus[11:]]):
        found = opened(given).search(queries, 30)
        np.testing.assert_array_equal(found.indices, exact.indices)
        np.testing.assert_allclose(found.scores, exact.scores, rtol=0, atol=1.1e-6)
    assert found.indices[0, :2].tolist() == [7, 450]


def test_more_is_asked_for_than_there_is(opened, corpus, queries):
    """The rest of a row is empty; so is the answer to no queries."""
    index = opened(corpus[:3])
    found = index.search(queries, 5)
    assert (found.indices[:, 3:] == -1).all()
    assert (found.scores[:, 3:] == -np.inf).all()
    assert sorted(found.indices[0, :3].tolist()) == [0, 1, 2]
    assert index.search(queries[:0], 5).indices.shape == (0, 5)
    assert opened(corpus[:0]).search(queries[:1], 2).indices.tolist() == [[-1, -1]]


def test_vectors_need_no_unit_length(opened, corpus, queries):
    """The inner product, not the cosine: a longer vector wins."""
    longer = corpus * np.linspace(0.5, 3, len(corpus), dtype=np.float32)[:, None]
    found = opened(longer).search(queries * 2, 10)
    np.testing.assert_array_equal(found.indices, exact_search(queries * 2, longer, 10).indices)


@pytest.mark.parametrize("kind", ["flat", "hnsw&ef=100"])
def test_half_precision_is_near(opened, corpus, queries, kind):
    """Scores to a thousandth, in half the room."""
    index, whole = opened(corpus, f"pgvector?type=halfvec&kind={kind}"), opened(corpus)
    found, exact = index.search(queries, 10), exact_search(queries, corpus, 10)
    assert recall(found, exact) > 0.97
    np.testing.assert_allclose(found.scores, exact.scores, rtol=0, atol=2e-3)
    if kind == "flat":
        assert index.facts.disk_bytes < whole.facts.disk_bytes


def test_a_graph_is_used_and_good(opened, corpus, queries, server):
    """Also of a table that the planner would rather read whole; the recall is that of a graph."""
    index = opened(corpus, "pgvector?kind=hnsw&m=8&ef_construction=32&ef=60")
    assert recall(index.search(queries, 10), exact_search(queries, corpus, 10)) >= 0.95
    plan = index._server.do(lambda one: _plan(index, one, queries[0]))
    assert "Index Scan" in plan
    assert index.facts.disk_bytes > opened(corpus).facts.disk_bytes
    assert index.facts.build_seconds > 0


def _plan(index, connection, query):
    from psycopg.sql import SQL

    with connection.transaction():
        connection.execute(*index._build_search_settings_statement(10))
        rows = connection.execute(SQL("EXPLAIN ") + index._build_search_statement(10), [query]).fetchall()
    return "\n".join(line for (line,) in rows)


def test_more_than_ef_are_found(opened, corpus, queries):
    """The scan goes on through the graph, in order."""
    found = opened(corpus, "pgvector?kind=hnsw&ef=5").search(queries, 200)
    assert (found.indices >= 0).all()
    assert (np.diff(found.scores, axis=1) <= 0).all()
    assert recall(found, exact_search(queries, corpus, 200), 200) > 0.9


def test_ef_decides_how_much_is_looked_at(opened, corpus, queries):
    """The setting reaches the server: the narrowest search finds less than a wide one."""
    exact = exact_search(queries, corpus, 1)
    hits = [
        recall(opened(corpus, f"pgvector?kind=hnsw&m=2&ef_construction=4&ef={ef}").search(queries, 1), exact, 1)
        for ef in (1, 400)
    ]
    assert hits[0] < hits[1]


def test_a_table_is_made_once(opened, corpus, queries, server):
    """Found by content and layout by the next one; `ef` is only how it is searched."""
    first = opened(corpus, "pgvector?kind=hnsw&ef=40")
    again = opened(corpus.copy(), "pgvector?kind=hnsw&ef=80")
    assert (first.facts.found, again.facts.found) == (False, True)
    assert again.facts.build_seconds == first.facts.build_seconds
    assert again.facts.disk_bytes == first.facts.disk_bytes
    assert len(server.tables()) == 1
    other = corpus.copy()
    other[0, 0] += 1
    for vectors, spec in ((corpus, "kind=flat"), (corpus, "kind=hnsw&m=8"), (other, "kind=hnsw")):
        assert not opened(vectors, f"pgvector?{spec}").facts.found
    assert len(server.tables()) == 4
    assert server.ask("SELECT DISTINCT n, dim FROM embassay.indexes") == [(600, 24)]


class Interrupted:
    """Shards whose second cannot be read."""

    def __init__(self, corpus):
        self.shards = [corpus[:100], corpus[100:]]

    def __len__(self):
        return 2

    def __iter__(self):
        yield self.shards[0]
        raise KeyboardInterrupt


def test_a_table_that_is_half_loaded_is_never_seen(opened, corpus, queries, server):
    """Stopped while it loads: nothing is there, and the next one loads it all."""
    from embassay.search.indexes.pgvector import PgVectorIndex, PgVectorLayout, encode_copy_rows
    from embassay.search.indexes.store import hash_vectors

    digest = hash_vectors(corpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "embassay.search.indexes.pgvector.encode_copy_rows",
            lambda vectors, kind: encode_copy_rows(Interrupted(corpus), kind),
        )
        with pytest.raises(KeyboardInterrupt):
            PgVectorIndex(vectors=corpus, digest=digest)
    assert server.tables() == set()
    index = opened(corpus)
    assert not index.facts.found
    assert server.tables() == {PgVectorLayout().table(digest)}
    assert server.ask(f"SELECT count(*) FROM embassay.{PgVectorLayout().table(digest)}") == [(600,)]


LOAD = """
import json, sys
import numpy as np
from embassay.search.indexes import open_index

corpus = np.load(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
index = open_index("pgvector?kind=hnsw", corpus)
found = index.search(corpus[:5], 3)
print(json.dumps([index.facts.found, found.indices.tolist()]))
index.close()
"""


@pytest.mark.slow
def test_two_clients_load_the_same_vectors_at_once(server, corpus, tmp_path):
    """One loads, the other waits and finds; neither fails, and the vectors are there once."""
    np.save(tmp_path / "corpus.npy", corpus)
    clients = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", LOAD, str(tmp_path / "corpus.npy")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for client in clients:
        assert client.stdout.readline() == "ready\n"
    for client in clients:
        client.stdin.write("go\n")
        client.stdin.flush()
    said = [client.communicate(timeout=60) for client in clients]
    assert [client.returncode for client in clients] == [0, 0], said
    found = [json.loads(out) for out, _ in said]
    assert sorted(one[0] for one in found) == [False, True]
    assert found[0][1] == found[1][1]
    (table,) = server.tables()
    assert server.ask(f"SELECT count(*), count(DISTINCT id) FROM embassay.{table}") == [(600, 600)]


@pytest.mark.parametrize("beforehand", [True, False])
def test_whoever_waits_finds_what_was_made_meanwhile(opened, corpus, beforehand, monkeypatch):
    """Both have looked, found nothing and want the lock before either has it: one makes the table."""
    from embassay.search.indexes import pgvector as tables

    if beforehand:
        opened(corpus[:5])
    for name, together in ((tables.SCHEMA, Barrier(2)), ("v_", Barrier(2))):
        locked = tables._lock_name_until_transaction_end

        def wait(connection, what, name=name, together=together, locked=locked):
            if what.startswith(name):
                together.wait(20)
            locked(connection, what)

        monkeypatch.setattr(tables, "_lock_name_until_transaction_end", wait)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(opened, [corpus, corpus]))
    assert sorted(one.facts.found for one in made) == [False, True]


def test_a_server_that_is_stopped_is_one_clear_error(opened, corpus, queries, server, monkeypatch, capfd):
    """It is named, with what to do, and the client's log stays away; once it is back the same index goes on."""
    monkeypatch.setattr(logging.root, "handlers", [])
    index = opened(corpus)
    before = index.search(queries, 5)
    server.stop()
    for _ in range(2):
        with pytest.raises(ModelError, match=r"PostgreSQL at .+:5432 does not answer: .*\.") as error:
            index.search(queries, 5)
        assert "\n" not in str(error.value)
        assert "Restart the server" in error.value.mend
    with pytest.raises(ModelError, match="does not answer"):
        open_index("pgvector", corpus)
    assert capfd.readouterr().err == ""
    server.start()
    after = index.search(queries, 5)
    np.testing.assert_array_equal(before.indices, after.indices)


def test_a_server_that_is_stopped_while_it_loads(opened, corpus, server, monkeypatch):
    """The same error; nothing is left of the table, and the next one loads it all."""
    from embassay.search.indexes import pgvector as tables

    copied = tables.encode_copy_rows

    def stop(vectors, kind):
        yield from copied(vectors, kind)
        server.stop()
        yield from copied(vectors, kind)

    with monkeypatch.context() as patch:
        patch.setattr(tables, "encode_copy_rows", stop)
        with pytest.raises(ModelError, match=r"PostgreSQL at .+:5432 does not answer: .*\.") as error:
            opened(corpus)
    assert "Restart the server" in error.value.mend
    server.start()
    assert server.tables() == set()
    index = opened(corpus)
    assert server.ask(f"SELECT count(*) FROM embassay.{index._table}") == [(600,)]


def test_a_full_disk_is_no_absence(opened, corpus, queries):
    """The server answers with a no: it is not to be started again."""
    import psycopg

    index = opened(corpus)

    def full(connection):
        raise psycopg.errors.DiskFull("could not extend file: No space left on device\nHINT: free some")

    with pytest.raises(ModelError, match=r"refuses: could not extend file: No space left on device\.$"):
        index._server.do(full)


def test_a_restart_between_two_searches_is_not_noticed(opened, corpus, queries, server):
    """The connection is broken, the server is not."""
    index = opened(corpus, "pgvector?kind=hnsw")
    before = index.search(queries, 5)
    server.stop()
    server.start()
    np.testing.assert_array_equal(index.search(queries, 5).indices, before.indices)


def test_a_connection_that_is_cut_in_the_middle(opened, corpus, queries, server):
    """The query is asked again on a new one."""
    index = opened(corpus)
    server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'embassay'")
    found = index.search(queries, 5)
    np.testing.assert_array_equal(found.indices, exact_search(queries, corpus, 5).indices)


def test_a_table_that_somebody_dropped_is_loaded_again(opened, corpus, queries, server):
    """With the list or without it, while an index is open or later."""
    index = opened(corpus)
    (table,) = server.tables()
    server.ask(f"DROP TABLE embassay.{table}")
    np.testing.assert_array_equal(index.search(queries, 5).indices, exact_search(queries, corpus, 5).indices)
    server.ask("DROP SCHEMA embassay CASCADE")
    assert not opened(corpus).facts.found


def test_many_threads_search_at_once(opened, corpus, queries):
    """Each over a connection of its own; closing closes all, and a search after it opens a new one."""
    index = opened(corpus)
    exact = exact_search(queries, corpus, 5)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: index.search(queries, 5), range(12)):
            np.testing.assert_array_equal(found.indices, exact.indices)
    connections = list(index._server._all)
    assert 1 < len(connections) <= 5
    index.close()
    assert all(one.closed for one in connections)
    np.testing.assert_array_equal(index.search(queries, 5).indices, exact.indices)


@pytest.mark.parametrize(("bad", "kind"), [(np.nan, "vector"), (np.inf, "vector"), (1e30, "halfvec")])
def test_values_that_the_server_does_not_take(opened, corpus, bad, kind, server):
    """Its own words, in one line; nothing is left there."""
    broken = corpus.copy()
    broken[3, 3] = bad
    with pytest.raises(ModelError, match=rf"PostgreSQL at .* refuses: .*{kind}"):
        opened(broken, f"pgvector?type={kind}")
    assert server.tables() == set()


def test_a_password_opens_the_server_and_is_never_shown(server, corpus, queries, monkeypatch, capfd):
    """The right one works, the wrong one is told by its variable; neither is in a name, a repr, a message or a log."""
    import traceback

    monkeypatch.setattr(logging.root, "handlers", [])
    with server.password_for("careful", "right-Word"):
        for word in ("right-Word", "wrong-Word"):
            monkeypatch.setenv("MY_PG", server.url.replace("//postgres:@", f"//careful:{word}@"))
            if word == "right-Word":
                index = open_index("pgvector:MY_PG", corpus)
                assert index.search(queries, 1).indices[0, 0] == 7
                assert word not in repr(index) + repr(vars(index)) + index.name
                index.close()
                continue
            with pytest.raises(ModelError, match="refuses: password authentication failed") as error:
                open_index("pgvector:MY_PG", corpus)
            assert "MY_PG" in error.value.mend
            assert word not in "".join(traceback.format_exception(error.value)) + capfd.readouterr().err


def test_a_user_without_rights(opened, corpus, queries, server, monkeypatch):
    """To make the table they need them, and are told; to search one that is there, reading is enough."""
    server.ask("DROP ROLE IF EXISTS reader")
    server.ask("CREATE ROLE reader LOGIN")
    reader = server.url.replace("//postgres:", "//reader:", 1)
    monkeypatch.setenv("READER", reader)
    with pytest.raises(ModelError, match=r"refuses: permission denied") as error:
        opened(corpus, "pgvector:READER")
    assert "CREATE SCHEMA embassay" in error.value.mend
    opened(corpus)
    server.ask("GRANT USAGE ON SCHEMA embassay TO reader")
    server.ask("GRANT SELECT ON ALL TABLES IN SCHEMA embassay TO reader")
    index = opened(corpus, "pgvector:READER")
    assert index.facts.found
    assert index.search(queries, 1).indices[0, 0] == 7
    index.close()
    server.ask("DROP SCHEMA embassay CASCADE")
    server.ask("DROP ROLE reader")


def test_a_database_that_is_not_there(server, corpus, monkeypatch):
    """The server's own words, and where the name stands."""
    monkeypatch.setenv("ELSEWHERE", server.url.replace("/postgres?", "/elsewhere?"))
    with pytest.raises(ModelError, match='refuses: database "elsewhere" does not exist') as error:
        open_index("pgvector:ELSEWHERE", corpus)
    assert "ELSEWHERE" in error.value.mend


def test_a_server_without_pgvector(server, corpus, monkeypatch):
    """What to install, and where."""
    server.ask("DROP EXTENSION IF EXISTS vector CASCADE")
    monkeypatch.setattr("embassay.search.indexes.pgvector.EXTENSION", "vector_that_nobody_installed")
    with pytest.raises(ModelError, match=r"refuses: .*extension") as error:
        open_index("pgvector", corpus)
    assert "Install pgvector on the server" in error.value.mend


@pytest.mark.parametrize(
    "spec",
    [
        *("kind=hnsw&m=1", "kind=hnsw&m=101", "kind=hnsw&ef_construction=31", "kind=hnsw&ef_construction=1001"),
        *("kind=ivf", "type=bit", "ef=0", "ef=1001", "lists=5"),
    ],
)
def test_what_pgvector_cannot_be_asked_is_refused_before_anything(spec, corpus, monkeypatch):
    """Without a server."""
    monkeypatch.delenv("EMBASSAY_POSTGRES", raising=False)
    with pytest.raises(UsageError):
        open_index(f"pgvector?{spec}", corpus)


@pytest.mark.parametrize(("spec", "dim"), [("", 16_001), ("?kind=hnsw", 2001), ("?kind=hnsw&type=halfvec", 4001)])
def test_too_many_dimensions_are_refused(spec, dim):
    """With what can be done."""
    with pytest.raises(UsageError, match="Use fewer dimensions"):
        open_index(f"pgvector{spec}", np.zeros((1, dim), np.float32))


@pytest.mark.parametrize("dim", [1, 1990, 2000, 2500])
def test_wide_vectors_are_loaded_whole(opened, dim):
    """Those that fill a page and those that need more than one."""
    rows = np.random.default_rng(1).standard_normal((4, dim)).astype(np.float32)
    found = opened(rows).search(rows, 1)
    assert found.indices[:, 0].tolist() == exact_search(rows, rows, 1).indices[:, 0].tolist()


def test_queries_that_do_not_fit(opened, corpus, queries):
    """Another width, another number of axes, no candidates."""
    index = opened(corpus)
    for wrong, k in ((queries[:, :5], 3), (queries[0], 3), (queries, 0)):
        with pytest.raises(UsageError, match="24 dimensions"):
            index.search(wrong, k)


def test_without_the_extra(corpus, monkeypatch):
    """What to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModelError, match="psycopg") as error:
        open_index("pgvector:postgresql://localhost/x", corpus)
    assert "embassay[pg]" in error.value.mend


def wordllama(texts):
    from embassay.systems import open_system
    from embassay.text import open_tokenizer

    rows = open_system("wordllama", tokenizer=open_tokenizer("words")).encoder.encode(texts)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def check_on_texts(opened, documents, questions, ef):
    """Scan and graph on real vectors: the same top 10, and a recall of at least 0.95."""
    exact = exact_search(questions, documents, 11)
    found = opened(documents).search(questions, 10)
    # Scores that differ by less than the rounding may change places.
    for row in range(len(questions)):
        scores = dict(zip(exact.indices[row].tolist(), exact.scores[row].tolist(), strict=True))
        for place, position in enumerate(found.indices[row].tolist()):
            if position != exact.indices[row, place]:
                assert abs(scores[position] - exact.scores[row, place]) <= 2e-6
    graph = opened(documents, f"pgvector?kind=hnsw&ef={ef}").search(questions, 10)
    assert recall(graph, exact) >= 0.95


def test_the_sample_data(opened):
    """The vectors of the texts that come with the package."""
    from embassay.data import open_dataset

    data = open_dataset("sample").load("retrieval").data
    check_on_texts(opened, wordllama(data.corpus.texts), wordllama(data.queries.texts), 40)


@pytest.mark.shared
def test_scifact(opened, root):
    """5,183 abstracts and 300 claims, with pgvector's own defaults of 40 candidates."""
    from embassay.data import open_dataset

    folder = root.parent / "shared" / "data" / "retrieval" / "scifact"
    if not folder.is_dir():
        pytest.skip("needs SciFact")
    data = open_dataset(str(folder)).load("retrieval").data
    check_on_texts(opened, wordllama(data.corpus.texts), wordllama(data.queries.texts), 40)
