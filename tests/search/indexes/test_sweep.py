"""A sweep over a real server that is stopped in the middle, and goes on when it is back."""

from __future__ import annotations

import pytest

import embassay as eb
from embassay.protocols.rag.sweep.protocol import read_sweep_measurements
from embassay.search.indexes.pgvector import PgVectorIndex

pytest.importorskip("psycopg")
pytest.importorskip("pgvector")

CONFIG = {
    "datasets": "sample", "encoder": "wordllama", "dims": [32, 64], "index": ["flat", "pgvector", "pgvector?kind=hnsw"],
    "k": 10, "queries": 8, "latency": {"queries": 3, "warmup": 1, "repeats": 2, "concurrency": 2},
    "measures": ["RA-nWG"], "cutoffs": [10],
}  # fmt: skip


def by_index(sweep):
    found = {(one.configuration.dims, one.configuration.index): one for one in sweep.measured}
    assert len(found) == len(sweep.measured)
    return found


def test_a_server_is_stopped_in_the_middle_of_a_sweep(server, tmp_path, monkeypatch):
    """Cells that need it fail with one reason, the others are done; the same call then does what is missing, and a
    scan in the server finds what exact search finds."""
    search, searched = PgVectorIndex.search, []

    def stopping(self, queries, k):
        searched.append(self.name)
        if len(searched) == 8:
            server.stop()
        return search(self, queries, k)

    with monkeypatch.context() as patch:
        patch.setattr(PgVectorIndex, "search", stopping)
        run = eb.rag.sweep(CONFIG, out=tmp_path / "run")
    broken = read_sweep_measurements(tmp_path / "run")
    assert run.manifest["status"] == "partial"
    assert {(32, "flat"), (64, "flat")} <= by_index(broken).keys()
    assert broken.skipped
    for one in broken.skipped:
        assert one.failed
        assert one.reason.startswith("PostgreSQL at ")
        assert "does not answer" in one.reason
        assert "\n" not in one.reason
    server.start()
    done = len(broken.measured)
    again = eb.rag.sweep(CONFIG, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    found = by_index(sweep)
    assert again.manifest["status"] == "finished"
    assert again.manifest["sessions"][-1]["cells_done"] == 6 - done
    assert not sweep.skipped
    for dims in (32, 64):
        flat, scan, graph = (found[dims, name] for name in CONFIG["index"])
        assert scan.quality["RA-nWG@10"].tolist() == pytest.approx(flat.quality["RA-nWG@10"].tolist(), nan_ok=True)
        assert scan.recall[10] == 1
        assert graph.recall[10] >= 0.95
        assert graph.index.disk_bytes > scan.index.disk_bytes > 0
