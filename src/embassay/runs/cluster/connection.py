"""Joining a cluster, or starting one of this machine: its address looked at, its pulse watched.

Calls that need its head wait without an end once that is gone, and where Ray's daemon of this machine dies, Ray ends
the process of the driver without a word some 10 s later. So both are asked by a thread of its own, and the driver looks
at how long ago they answered.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import ModelError, UsageError
from embassay.machine import VARIABLE, choose_cuda_card, count_cores
from embassay.runs.execution import RayWorkers, describe_error

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    # A task that is too large for its machine fails after some attempts, where it would be tried for ever.
    "RAY_task_oom_retries": "3",
    # Ray would end the process, a notebook say, a minute after the head of the cluster: see `pulse`.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "86400",
}


def import_ray() -> Any:
    """Import Ray; UsageError where the extra is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
            import ray.exceptions
            import ray.util.scheduling_strategies
    except ImportError as error:
        raise UsageError(
            f"--engine ray needs the package {error.name or 'ray'}, which is not installed.",
            mend="Install it here and on all machines of the cluster: pip install 'embassay[ray]'",
        ) from error
    return ray


def make_node_schedule_strategy(ray: Any, node: str, *, soft: bool = False) -> Any:
    """The strategy that puts a task or an actor on this node; `soft`, elsewhere where that is gone."""
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=soft)


def enter_driver_folder(folder: str) -> None:
    """Enter the folder of the driver, where this machine has it, so that relative paths mean the same."""
    if Path(folder).is_dir():
        os.chdir(folder)


def fetch_ray_value(reference: Any) -> Any:
    """What a reference stands for; what its task raised is raised as it was, without Ray's own words around it."""
    ray = import_ray()
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error


@dataclass(frozen=True)
class RaisedError:
    """What a piece of work raised."""

    error: Exception


def wrap_error_for_sending(error: Exception) -> RaisedError:
    """The error, or its words in one that can be sent where it cannot."""
    try:
        # Some errors can be packed but not unpacked.
        unpack_value_from_ray(pack_value_for_ray(error))
    except Exception:
        return RaisedError(RuntimeError(describe_error(error)))
    return RaisedError(error)


def pack_value_for_ray(what: Any) -> bytes:
    """Anything that Ray can send, as bytes that can be compared and kept."""
    return bytes(import_ray().cloudpickle.dumps(what))


def unpack_value_from_ray(content: bytes) -> Any:
    """Unpack a value from bytes that this run has packed for Ray itself."""
    return import_ray().cloudpickle.loads(content)


_SECONDS = 5.0
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of HTTP/2, which Ray speaks, begins (RFC 9113, 3.4): with empty settings. A server answers with its own,
whatever it asks for later."""
_SETTINGS = 4


def check_cluster_address(address: str) -> None:
    """UsageError where HOST:PORT is none, nothing answers there, or something that is no head of a cluster."""
    if address in ("auto", "local"):
        return
    if "://" in address:
        raise UsageError(
            f"--address {address} is an address of Ray's client or jobs server.",
            mend="Run the command on a machine of the cluster, with --address auto or HOST:6379.",
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(
            f"--address {address} is not an address of a Ray cluster.",
            mend="Write HOST:PORT, as shown by `ray start --head`, or auto on a machine of the cluster.",
        )
    try:
        answered = _has_http2_server(host.strip("[]"), int(port))
    except OSError as error:
        raise make_no_cluster_error(address, str(error.strerror or error)) from error
    if not answered:
        raise make_no_cluster_error(address, "something else is listening there")


def make_no_cluster_error(address: str, why: str) -> UsageError:
    """Make the error that there is no cluster at this address."""
    where = "runs on this machine" if address == "auto" else f"answers at {address} ({why.rstrip('.')})"
    return UsageError(
        f"No Ray cluster {where}.",
        mend=("Start one with `ray start --head`, and use the address it shows, or auto on one of its machines."),
    )


def _has_http2_server(host: str, port: int) -> bool:
    """Whether a server of HTTP/2 is there; behind TLS that cannot be seen so early. OSError where there is none."""
    with socket.create_connection((host, port), timeout=_SECONDS) as server:
        if os.environ.get("RAY_USE_TLS", "0") not in ("", "0", "false"):
            return True
        server.sendall(_HELLO)
        head = b""
        # recv may bring less than was asked for.
        while len(head) < 4:
            more = server.recv(4 - len(head))
            if not more:
                return False
            head += more
    # The fourth byte of a frame is its type.
    return head[3] == _SETTINGS


SILENCE = 30.0
"""Seconds without an answer after which the cluster is given up; a head that is started anew has less."""
_PERIOD = 1.0
_REFUSALS = 3
_MEND = (
    "Finished work is kept. To resume, run the same command on any cluster or with --engine local. Ray's "
    "logs on that machine show the cause: /tmp/ray/session_latest/logs."
)


class ClusterHeartbeatMonitor:
    """The CPUs of the cluster, as its head said last; nothing waits for it."""

    def __init__(self, ray: Any, cpus: int) -> None:
        self._ray, self.cpus = ray, max(1, cpus)
        self._daemon, self._refused = _find_local_ray_daemon_address(ray), 0
        self._heard, self._ended = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._watch_cluster_cpus_until_end, name="pulse", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """ModelError where this machine's daemon is gone, or the head has been silent for too long."""
        if self._refused >= _REFUSALS:
            raise make_dead_ray_daemon_error()
        if self._count_seconds_since_last_message() > SILENCE:
            # This process may have been stopped for a while: then an answer is on its way.
            time.sleep(3 * _PERIOD)
            if self._count_seconds_since_last_message() > SILENCE:
                raise ModelError(
                    "The head of the Ray cluster has not answered for "
                    f"{self._count_seconds_since_last_message():.0f} s.",
                    mend=_MEND,
                )

    def stop(self) -> None:
        """Ask no more: whoever asks a library that has left its cluster gets an error or a new cluster."""
        self._ended.set()
        self._thread.join(timeout=3 * _PERIOD)

    def _count_seconds_since_last_message(self) -> float:
        return time.monotonic() - self._heard

    def _watch_cluster_cpus_until_end(self) -> None:
        while not self._ended.wait(_PERIOD):
            self._refused = self._refused + 1 if _refuses_connections(self._daemon) else 0
            try:
                resources = self._ray.cluster_resources()
            except Exception:  # whatever Ray raises, it is no answer
                continue
            self.cpus, self._heard = max(1, int(resources.get("CPU", 1))), time.monotonic()


def make_dead_ray_daemon_error() -> ModelError:
    """Make the error that Ray's daemon of the driver's own machine has died."""
    return ModelError("The Ray processes of this machine have died.", mend=_MEND)


def _find_local_ray_daemon_address(ray: Any) -> tuple[str, int]:
    """Where this machine's daemon of Ray listens."""
    own_id = ray.get_runtime_context().get_node_id()
    own = next(node for node in ray.nodes() if node["NodeID"] == own_id)
    return own["NodeManagerAddress"], int(own["NodeManagerPort"])


def _refuses_connections(where: tuple[str, int]) -> bool:
    """Whether nobody listens there any more; a daemon that is merely slow does not refuse."""
    try:
        socket.create_connection(where, timeout=_PERIOD).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


_FORWARDED = ("EMBASSAY_CACHE", "EMBASSAY_DATA", "TIKTOKEN_CACHE_DIR", "HF_HOME", "HF_HUB_OFFLINE", "PYTHONPATH")
"""Where data, models and vocabularies lie: the same on all machines, where it is said at all."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@contextmanager
def hold_ray_cluster_connection(chosen: RayWorkers) -> Iterator[Any]:
    """The library, connected; a cluster that was started for this is stopped at the end, one that was joined is left.
    A connection that this process has already is used as it is. UsageError where there is no such cluster, or none
    that this process can join."""
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    if chosen.address is not None:
        check_cluster_address(chosen.address)
    with _keep_signal_handlers(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _start_ray(ray, chosen)
    _silence_ray_stdout_messages(ray)
    try:
        yield ray
    finally:
        ray.shutdown()


def make_thread_count_variables() -> dict[str, str]:
    """How many threads numeric libraries use here, as environment variables: Ray would give each task as many as it
    has CPUs, and the last bits of a sum can depend on that."""
    chosen = {name: os.environ[name] for name in _THREADS if os.environ.get(name)}
    return {"OMP_NUM_THREADS": str(count_cores()), **chosen}


def _start_ray(ray: Any, chosen: RayWorkers) -> None:
    environment = {
        name: os.environ[name] for name in _FORWARDED if os.environ.get(name)
    } | make_thread_count_variables()
    # What this machine has decides: a cell's key says which device its vectors are of.
    environment[VARIABLE] = "cpu" if choose_cuda_card() is None else "auto"
    common = {"log_to_driver": False, "logging_level": logging.CRITICAL, "runtime_env": {"env_vars": environment}}
    try:
        if chosen.address is None:
            # Not whatever RAY_ADDRESS names: this one is for the run.
            ray.init("local", num_cpus=count_cores(), include_dashboard=False, **common)
        else:
            with _capture_stderr() as heard:
                ray.init(chosen.address, **common)
    except (Exception, SystemExit) as error:  # Ray raises all kinds, a bare Exception too
        if chosen.address is None:
            raise UsageError(
                f"Ray could not be started here: {_summarise_ray_error(error)}", mend=_MEND_START
            ) from error
        if any("InvalidAuthToken" in line for line in heard):
            raise UsageError(f"The Ray cluster at {chosen.address} requires a token.", mend=_MEND_TOKEN) from error
        if isinstance(error, RuntimeError):
            raise UsageError(
                f"Ray cannot join the cluster: {_summarise_ray_error(error)}", mend=_MEND_VERSION
            ) from error
        raise make_no_cluster_error(chosen.address, _summarise_ray_error(error)) from error


def _silence_ray_stdout_messages(ray: Any) -> None:
    """Silence what Ray would say of lost machines on stdout; its logs have it too."""
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


_MEND_START = (
    "See the logs in /tmp/ray/session_latest/logs. Possible causes: too little free space in /dev/shm, too "
    "little free memory, or a very busy machine."
)
_MEND_TOKEN = (
    "Set RAY_AUTH_MODE=token here. Run `ray get-auth-token` on the cluster, and put the token into "
    "~/.ray/auth_token or RAY_AUTH_TOKEN."
)
_MEND_VERSION = "Use the same versions of Python and Ray here and on all machines of the cluster."


@contextmanager
def _capture_stderr() -> Iterator[list[str]]:
    """The lines that Ray's own code, which knows no log of Python's, writes to stderr meanwhile: the reason why it does
    not join is in them alone."""
    lines: list[str] = []
    sys.stderr.flush()
    before = os.dup(2)
    try:
        with tempfile.TemporaryFile() as caught:
            os.dup2(caught.fileno(), 2)
            try:
                yield lines
            finally:
                os.dup2(before, 2)
                caught.seek(0)
                lines += caught.read().decode("utf-8", "replace").splitlines()
    finally:
        os.close(before)


def _summarise_ray_error(error: BaseException) -> str:
    """An error of Ray's in one line: it tells versions on lines of their own."""
    if isinstance(error, SystemExit):
        return "it does not use Ray's protocol"
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    return " ".join(line for line in lines if line)[:300]


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Keep the run's own signal handlers, though Ray answers SIGTERM by itself once started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, answer in before.items():
            # None stands for a handler that Python did not set and cannot put back.
            if answer is not None:
                signal.signal(number, answer)


_NODE_SECONDS = 120.0
_CPUS_PER_ACTOR = 8


@dataclass(frozen=True)
class ClusterNode:
    """A machine as Ray counts it: CPUs and GPUs that tasks may book, bytes of memory and of the object store."""

    id: str
    host: str
    cpus: int
    gpus: float
    memory: int
    object_store: int

    @property
    def count_encoder_process_slots(self) -> int:
        """How many processes of one encoder the node holds: each has threads of its own, on all cores."""
        return max(1, self.cpus // _CPUS_PER_ACTOR)


@dataclass(frozen=True)
class NodeFindings:
    """What a process finds on a node; `error` where Embassay cannot be imported."""

    node: ClusterNode
    python: str
    embassay: str
    ray: str
    missing: tuple[str, ...] = ()
    error: str = ""


def list_cluster_nodes(ray: Any) -> tuple[ClusterNode, ...]:
    """The machines that are there, by name."""
    alive = [
        ClusterNode(
            node["NodeID"],
            node["NodeManagerHostname"] if _is_node_hostname_known(node) else node["NodeManagerAddress"],
            int(node["Resources"].get("CPU", 0)),
            float(node["Resources"].get("GPU", 0)),
            int(node["Resources"].get("memory", 0)),
            int(node["Resources"].get("object_store_memory", 0)),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]
    return tuple(sorted(alive, key=lambda node: (node.host, node.id)))


def count_cluster_cpus(found: Sequence[ClusterNode]) -> int:
    """The CPUs of all together. UsageError where there is none."""
    total = sum(node.cpus for node in found)
    if not total:
        raise UsageError("The Ray cluster has no CPU for tasks.", mend="Start its nodes with --num-cpus 1 or more.")
    return total


def inspect_cluster_nodes(ray: Any, found: Sequence[ClusterNode], files: Sequence[Path] = ()) -> list[NodeFindings]:
    """What each machine finds, asked there, all at once; `files` are looked for. A machine that is gone by then is left
    out: runs outlive the loss of a node, so its loss before they begin stops none."""
    probe = ray.remote(_make_node_probe())
    paths, folder = [str(file) for file in files], str(Path.cwd())
    answers = [
        probe.options(num_cpus=0, scheduling_strategy=make_node_schedule_strategy(ray, node.id)).remote(paths, folder)
        for node in found
    ]
    finds = [_read_node_probe_answer(ray, node, answer) for node, answer in zip(found, answers, strict=True)]
    if not any(find.error for find in finds):
        return finds
    alive = {node.id for node in list_cluster_nodes(ray)}
    return [find for find in finds if find.node.id in alive]


def check_cluster_nodes(seen: Sequence[NodeFindings]) -> None:
    """UsageError, with the machine and the mend, where one cannot do the work of a run as this machine would."""
    from embassay import __version__

    for find in seen:
        if find.error:
            raise UsageError(
                f"The node {find.node.host} cannot do the work: {find.error}",
                mend="Install the same version of Embassay, with the same extras, on every node.",
            )
        if find.embassay != __version__:
            raise UsageError(
                f"The node {find.node.host} has Embassay {find.embassay}, but this one has {__version__}.",
                mend="Install the same version on every node.",
            )
        if find.missing:
            raise UsageError(
                f"The node {find.node.host} does not see {find.missing[0]}.",
                mend="Put it on a file system that all nodes mount at the same path, and use that path.",
            )


def _is_node_hostname_known(plain: dict[str, Any]) -> bool:
    return bool(plain["NodeManagerHostname"])


def _read_node_probe_answer(ray: Any, node: ClusterNode, answer: Any) -> NodeFindings:
    try:
        return NodeFindings(node, **ray.get(answer, timeout=_NODE_SECONDS))
    except ray.exceptions.GetTimeoutError:
        return NodeFindings(node, "", "", "", error=f"it did not answer within {_NODE_SECONDS:.0f} s")
    except ray.exceptions.RayError as error:
        # The last line of a remote traceback is the error itself.
        lines = [line for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
        return NodeFindings(node, "", "", "", error=lines[-1].strip())


def _make_node_probe() -> Callable[[list[str], str], dict[str, Any]]:
    """A function that travels by value: where Embassay is missing, it can say so."""

    def probe_node(files: list[str], folder: str) -> dict[str, Any]:
        import os
        import platform

        import ray

        facts = {"python": platform.python_version(), "ray": ray.__version__, "embassay": "", "error": ""}
        try:
            import embassay

            facts["embassay"] = embassay.__version__
        except Exception as error:
            facts["error"] = f"{type(error).__name__}: {error}"
        if os.path.isdir(folder):  # noqa: PTH112
            os.chdir(folder)
        return {**facts, "missing": tuple(file for file in files if not os.path.exists(file))}  # noqa: PTH110

    return probe_node
