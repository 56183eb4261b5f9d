"""Cells on a real Ray cluster of this machine: the same records and bytes as here, whatever is lost."""

import os
import signal
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")
psutil = pytest.importorskip("psutil")

from cluster_work import TEXTS, started, work  # noqa: E402

from embassay.runs.cluster import engine  # noqa: E402
from embassay.runs.cluster import pools as losses  # noqa: E402
from embassay.runs.cluster.connection import (  # noqa: E402
    check_cluster_nodes,
    hold_ray_cluster_connection,
    import_ray,
    inspect_cluster_nodes,
    list_cluster_nodes,
)
from embassay.runs.cluster.engine import RayCellPartExecutor  # noqa: E402
from embassay.runs.execution import InProcessCellEngine, RayWorkers  # noqa: E402
from embassay.runs.folder import RunCell, RunFolder  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
STORE = 100 * 2**20


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one node with one CPU, which tests add nodes to."""
    import_ray()
    found = started(num_cpus=1)
    with hold_ray_cluster_connection(RayWorkers(found.address)):
        yield found
    found.shutdown()


@pytest.fixture
def crew(cluster, tmp_path):
    """The engine on that cluster."""
    with engine.join_ray_cluster(RayWorkers(cluster.address), RunFolder(tmp_path)) as one:
        yield one


class Ear:
    """Hears all, and does something when a cell has come so far."""

    def __init__(self, at=10**9, do=lambda: None):
        self.started_, self.texts, self.records, self.at, self.do = [], {}, {}, at, do

    def started(self, cell):
        self.started_.append(cell.key)

    def advanced(self, cell, texts):
        self.texts[cell.key] = self.texts.get(cell.key, 0) + texts
        if self.texts[cell.key] >= self.at:
            self.at = 10**9
            self.do()

    def ended(self, cell, record):
        self.records[cell.key] = record


def cells(*jobs):
    return [RunCell("t", "d", f"s{i}", f"key{i}", 3, job) for i, job in enumerate(jobs)]


def done(one, jobs, ear):
    return {record.system: record for record in one.do(cells(*jobs), work, ear)}


def here(tmp_path, jobs):
    """The same cells in this process, in a folder of its own."""
    own = RunFolder(tmp_path / "here")
    return own, done(InProcessCellEngine(own), [job.replace("cache", "other") for job in jobs], Ear())


def same(tmp_path, jobs, found):
    """Whether records and items are those that this process makes."""
    own, expected = here(tmp_path, jobs)
    for name, record in expected.items():
        assert (found[name].status, found[name].scores) == (record.status, record.scores)
        paths = [folder.locate_cell_items("t", "d", name) for folder in (own, RunFolder(tmp_path))]
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_one_cpu_is_enough_for_cells_parts_and_encoders(crew, tmp_path):
    """Cells lend their CPU to their parts and encoders, so nothing waits for ever; the bytes are those of this
    process, and the listener hears of every text."""
    jobs, ear = (f"encode {tmp_path / 'cache'}", "map", "score 0"), Ear()
    found = done(crew, jobs, ear)
    same(tmp_path, jobs, found)
    assert sorted(ear.started_) == ["key0", "key1", "key2"]
    assert ear.texts["key0"] == len(TEXTS)
    assert EmbeddingsKept(tmp_path / "cache").texts == len(TEXTS)


class EmbeddingsKept:
    """How many texts the cache of this machine has."""

    def __init__(self, path):
        from embassay.runs.embeddings import EmbeddingCache

        self.texts = sum(EmbeddingCache.open(path).summarise_cache_contents().encoders.values())


def test_a_failure_is_a_record_with_its_reason(crew, tmp_path):
    """As in this process: words, log, and the others go on; also where it is an encoder or a part that fails."""
    found = done(crew, ("model", "bug", f"missing {tmp_path / 'cache'}", "odd", "score 0"), Ear())
    assert [found[f"s{i}"].reason for i in range(5)] == [
        "The model broke. Mend it.",
        "ZeroDivisionError: division by zero",
        "The model is not here. Fetch it.",
        "ZeroDivisionError: 4 is even",
        "",
    ]
    assert "division by zero" in (tmp_path / "logs" / "key1.txt").read_text()


def test_a_cell_that_kills_its_process_fails_alone(crew, tmp_path, monkeypatch):
    """It is tried again so many times, and then says so."""
    monkeypatch.setattr(engine, "RETRIES", 0)
    monkeypatch.setattr(losses, "LIVES", 2)
    found = done(crew, ("die", "score 0"), Ear())
    assert found["s0"].reason == losses.DIED
    assert "ray start --num-cpus" in losses.DIED
    assert found["s1"].done


def killed(node):
    """Kill a node as a power cut would: its raylet and every process of it. Returns how many there were."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    family = [raylet, *raylet.children(recursive=True)]
    for one in family:
        os.kill(one.pid, signal.SIGKILL)
    return len(family)


@pytest.mark.parametrize(("job", "at"), [("encode {}", 12), ("map", 8), ("score 3", 1)])
def test_a_lost_node_costs_time_and_no_rows(cluster, crew, tmp_path, job, at):
    """Cells, their parts and encoders are on both nodes; in the middle of the stage one of them is killed."""
    extra = cluster.add_node(num_cpus=2, object_store_memory=STORE)
    jobs = [job.format(tmp_path / "cache")] * 3
    dead = []
    ear = Ear(at, lambda: dead.append(killed(extra)))
    found = done(crew, jobs, ear)
    cluster.remove_node(extra, allow_graceful=False)
    assert dead
    assert dead[0] > 1
    same(tmp_path, jobs, found)
    assert all(record.done for record in found.values())


def test_a_run_that_is_stopped_leaves_nothing_and_goes_on(cluster, tmp_path):
    """Ctrl-C in the midst of encoding: cells, parts and encoders end, and the next run gives the same bytes."""

    def stop():
        raise KeyboardInterrupt

    jobs = (f"encode {tmp_path / 'cache'}", "map", "score 30")
    with (
        engine.join_ray_cluster(RayWorkers(cluster.address), RunFolder(tmp_path)) as one,
        pytest.raises(KeyboardInterrupt),
    ):
        done(one, jobs, Ear(12, stop))
    deadline = time.monotonic() + 60
    while at_work(cluster.head_node):
        assert time.monotonic() < deadline, at_work(cluster.head_node)
        time.sleep(0.2)
    with engine.join_ray_cluster(RayWorkers(cluster.address), RunFolder(tmp_path)) as one:
        same(tmp_path, jobs[:2], done(one, jobs[:2], Ear()))


def at_work(node):
    """What the workers of a node do, by the names that Ray gives its processes."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    names = [name_of(one) for one in raylet.children(recursive=True)]
    return [name for name in names if any(part in name for part in ("_do_there", "_part", "Encoding", "Desk"))]


def name_of(process):
    """Empty for one that has ended since it was listed, or that nobody has waited for yet."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


@pytest.mark.parametrize(("width", "room", "ahead"), [(4, 0, 4), (40, 13_000_000, 4), (40, 1, 2)])
def test_what_is_larger_than_the_store_streams_through(cluster, width, room, ahead):
    """40 parts of 4 MB through a store of 100 MB: no more are made ahead than the window takes, or its bytes, with the
    one that waits for its place; and nothing is spilled to disk."""
    made = []

    def blocks():
        for number in range(40):
            made.append(number)
            yield bytes([number]) * 4_000_000

    spread = RayCellPartExecutor(None, "key", width=width, room=room)
    for taken, size in enumerate(spread.map(len, blocks())):
        assert size == 4_000_000
        assert len(made) - taken <= ahead
    assert len(made) == 40
    spilled = Path(cluster.head_node.get_session_dir_path()).glob("ray_spilled_objects*/*")
    assert not list(spilled)


def test_a_node_that_does_not_see_a_file_says_so(cluster, tmp_path):
    """One line with the machine, the file and the mend."""
    from embassay.errors import UsageError

    seen = inspect_cluster_nodes(ray, list_cluster_nodes(ray), [tmp_path, tmp_path / "corpus.jsonl"])
    with pytest.raises(UsageError, match=r"does not see .*corpus.jsonl") as caught:
        check_cluster_nodes(seen)
    assert "file system" in caught.value.mend
    check_cluster_nodes(inspect_cluster_nodes(ray, list_cluster_nodes(ray), [tmp_path]))


def test_an_encoder_that_is_another_on_the_nodes(cluster, tmp_path):
    """Its vectors would stand under the key of the driver's: the cell fails, with both identities."""
    named = {"s0": "cosine(slow:1)", "s1": "cosine(slow:2)"}
    with engine.join_ray_cluster(RayWorkers(cluster.address), RunFolder(tmp_path), (), named) as one:
        found = done(one, [f"encode {tmp_path / 'cache'}"] * 2, Ear())
    assert found["s0"].done
    assert "slow:1, expected cosine(slow:2)" in found["s1"].reason


def test_doctor_says_what_a_run_would_use(cluster):
    """The nodes, and what a run would use of them; a word on each, or JSON."""
    import json

    from typer.testing import CliRunner

    from embassay.cli.main import app

    told = CliRunner().invoke(app, ["doctor", "--address", cluster.address])
    assert told.exit_code == 0, told.output
    assert "1 cell at a time" in told.output
    assert "no GPU" in told.output
    facts = json.loads(CliRunner().invoke(app, ["doctor", "--address", cluster.address, "--json"]).output)
    assert facts["nodes"][0]["seen"]["embassay"]
    assert "ray" in facts["nodes"][0]["extras"]
    assert facts["nodes"][0]["lacks"] == []
    assert (facts["cells"], facts["encoders"], facts["check"]["state"]) == (1, 1, "ok")
