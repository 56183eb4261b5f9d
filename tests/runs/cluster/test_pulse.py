"""A cluster that is gone ends the run in one line; what is only slow does not."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from embassay.errors import ModelError
from embassay.runs.cluster import connection as pulse
from embassay.runs.cluster.connection import ClusterHeartbeatMonitor


class Head:
    """What a pulse asks of Ray: a head that answers or not, and a daemon that listens on a real port."""

    def __init__(self, port):
        self.answers, self.port = True, port

    def get_runtime_context(self):
        return SimpleNamespace(get_node_id=lambda: "here")

    def nodes(self):
        return [{"NodeID": "here", "NodeManagerAddress": "127.0.0.1", "NodeManagerPort": self.port}]

    def cluster_resources(self):
        if not self.answers:
            time.sleep(60)
        return {"CPU": 7.0}


@pytest.fixture
def there(monkeypatch):
    """A cluster, and the port of its daemon."""
    monkeypatch.setattr(pulse, "_PERIOD", 0.02)
    monkeypatch.setattr(pulse, "SILENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        head = Head(daemon.getsockname()[1])
        yield head, ClusterHeartbeatMonitor(head, 1), daemon


def gone(one):
    """The error that ends the run."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            one.check()
        except ModelError as error:
            return error
        time.sleep(0.02)
    raise AssertionError("it was not noticed")


def test_a_head_that_is_silent(there):
    """The CPUs are what it said last; the mend says that nothing is lost."""
    head, one, _ = there
    while one.cpus != 7:
        one.check()
    head.answers = False
    error = gone(one)
    assert "head of the Ray cluster has not answered" in error.message
    assert "To resume" in error.mend
    assert error.exit_code == 3


def test_a_daemon_that_is_gone(there):
    """Its port refuses: nothing that is sent from here arrives any more."""
    _, one, daemon = there
    one.check()
    daemon.close()
    assert "this machine have died" in gone(one).message
    one.stop()


def test_a_pause_is_no_silence(there):
    """A process that was stopped for a while waits for the answer that is on its way."""
    _, one, _ = there
    one._heard = time.monotonic() - 1000
    one.check()
    one.stop()


@pytest.mark.slow
def test_the_head_of_a_real_cluster_dies():
    """The run ends with our line, some seconds after it noticed, and not with Ray's; its process lives on."""
    pytest.importorskip("ray")
    pytest.importorskip("psutil")
    script = Path(__file__).parent / "head_dies.py"
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=240)
    assert told.returncode == 3, told.stderr
    assert "The head of the Ray cluster has not answered" in told.stderr
    assert "GCS" not in told.stderr
    assert told.stdout == "one cell was done\n"
