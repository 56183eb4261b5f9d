"""A cluster that is not there, cannot be joined or cannot do the work is one line with its mend, and exit code 2."""

import pickle
import socket
import sys
import threading
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from embassay.errors import DataError, ModelError, TextRefused, UsageError
from embassay.runs.cluster import connection as address
from embassay.runs.cluster.connection import (
    ClusterNode,
    NodeFindings,
    check_cluster_address,
    check_cluster_nodes,
    count_cluster_cpus,
    import_ray,
    inspect_cluster_nodes,
    make_thread_count_variables,
)
from embassay.runs.cluster.pools import plan_actor_placements
from embassay.runs.execution import ProcessWorkers, RayWorkers, convert_workers_to_settings


def node(cpus=4, gpus=0.0, name="a"):
    return ClusterNode(name, name, cpus, gpus, 2**30, 2**30)


@pytest.mark.parametrize("written", ["nonsense", "host:", ":6379x", "host:99999", "ray://host:10001", "http://h:1"])
def test_an_address_that_is_none(written):
    """The mend says how one is written."""
    with pytest.raises(UsageError) as caught:
        check_cluster_address(written)
    assert "auto" in caught.value.mend


def test_nobody_at_the_address():
    """It is said within seconds; Ray itself would wait for minutes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(UsageError, match=r"No Ray cluster answers at 127\.0\.0\.1"):
            check_cluster_address(f"127.0.0.1:{free.getsockname()[1]}")


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n", b"hm", b""])
def test_something_else_at_the_address(said):
    """It is said at once; Ray itself would try for minutes. Whether it answers, hangs up or is silent."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with server.accept()[0] as caller:
                caller.recv(100)
                caller.sendall(said)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(UsageError, match=r"No Ray cluster answers at .*something else"):
            check_cluster_address(f"127.0.0.1:{server.getsockname()[1]}")


def test_somebody_silent_at_the_address(monkeypatch):
    """A port that takes calls and says nothing."""
    monkeypatch.setattr(address, "_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(UsageError, match=r"No Ray cluster answers at .*timed out"),
    ):
        check_cluster_address(f"127.0.0.1:{server.getsockname()[1]}")


def test_the_extra_is_missing(monkeypatch):
    """The line that installs it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="needs the package ray") as caught:
        import_ray()
    assert "pip install 'embassay[ray]'" in caught.value.mend


def test_a_node_that_goes_while_it_is_asked(monkeypatch):
    """It is left out; one that is there and has an error is not."""

    class Probe:
        def options(self, **_):
            return self

        def remote(self, *_):
            return None

    fine = {"python": "3.11.7", "embassay": "1", "ray": "2.60.0"}
    ray = SimpleNamespace(remote=lambda _: Probe())
    monkeypatch.setattr(address, "make_node_schedule_strategy", lambda *_: None)
    monkeypatch.setattr(
        address,
        "_read_node_probe_answer",
        lambda _, asked, __: NodeFindings(asked, **fine, error="" if asked.id == "a" else "no answer"),
    )
    for there, told in (("ab", ["a", "b"]), ("a", ["a"])):
        monkeypatch.setattr(
            address, "list_cluster_nodes", lambda _, there=there: tuple(node(name=one) for one in there)
        )
        assert [one.node.id for one in inspect_cluster_nodes(ray, (node(name="a"), node(name="b")))] == told


def test_a_node_of_another_version_or_without_embassay():
    """The node is named."""
    from embassay import __version__

    fine = NodeFindings(node(), "3.11.7", __version__, "2.60.0")
    check_cluster_nodes([fine])
    with pytest.raises(UsageError, match=r"node b has Embassay 0\.0\.1"):
        check_cluster_nodes([fine, NodeFindings(node(name="b"), "3.11.7", "0.0.1", "2.60.0")])
    with pytest.raises(UsageError, match="node b cannot do the work: ModuleNotFoundError"):
        check_cluster_nodes(
            [
                NodeFindings(
                    node(name="b"), "3.11.7", "", "2.60.0", error="ModuleNotFoundError: No module named 'embassay'"
                )
            ]
        )
    with pytest.raises(UsageError, match="no CPU"):
        count_cluster_cpus([node(cpus=0)])


@pytest.mark.parametrize(
    ("found", "accelerated", "models", "expected"),
    [
        ((node(1),), False, 1, ["a"]),
        ((node(1),), False, 9, ["a"]),
        ((node(1, name="a"), node(1, name="b")), False, 3, ["a", "b"]),
        ((node(0, name="head"), node(1, name="b")), False, 1, ["b"]),
        ((node(0, name="head"),), False, 1, ["head"]),
        ((node(32),), False, 1, ["a"] * 4),
        ((node(32),), False, 3, ["a"]),
        ((node(4, gpus=2), node(4, name="b")), True, 3, ["a", "a"]),
        ((node(4), node(4, name="b")), True, 3, ["a", "b"]),
    ],
)
def test_every_model_has_a_seat(found, accelerated, models, expected):
    """However many models there are, each has at least one actor, and all together no more than fit on the GPUs."""
    taken = plan_actor_placements(found, accelerated, models)
    assert [one.node for one in taken] == expected
    for one in found:
        share = sum(seat.gpus for seat in taken if seat.node == one.id)
        assert share * models <= one.gpus + 1e-9


def test_the_long_form_of_workers():
    """A number is so many processes."""
    assert convert_workers_to_settings(3) == ProcessWorkers(3)
    assert convert_workers_to_settings(RayWorkers("auto")) == RayWorkers("auto")
    with pytest.raises(UsageError, match="0 workers"):
        convert_workers_to_settings(0)


def test_numeric_libraries_have_as_many_threads_as_here(monkeypatch):
    """What is set here is set there; Ray would set its own."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert int(make_thread_count_variables()["OMP_NUM_THREADS"]) >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert make_thread_count_variables()["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize("error", [
    ModelError("It broke.", mend="Mend it."), TextRefused("Too long."),
    DataError("no column", path="a.csv", line=3, expected="text", found="body", mend="Name it."),
])  # fmt: skip
def test_errors_keep_their_words_on_the_way(error):
    """Kind, message and mend."""
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), back.message, back.mend) == (str(error), error.message, error.mend)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--address", "10.0.0.1:6379"], "--engine ray"),
        (["--engine", "ray", "--workers", "2"], "--workers"),
        (["--engine", "ray", "--address", "nowhere"], "HOST:PORT"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, options, said):
    """Nothing is begun."""
    pytest.importorskip("ray")
    from embassay.cli.main import app

    out = tmp_path / "run"
    result = CliRunner().invoke(app, ["sage", "run", "-s", "wordllama", "--out", str(out), *options])
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)
    assert not out.exists()
