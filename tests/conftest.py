"""What all tests share: where the checkout is, a cache that no other test has touched, and a browser."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from hypothesis import settings

import chromium
from tiers import is_listed, read_places

HERE = Path(__file__).parent
ROOT = HERE.parent

# A shell that starts the tests in the background has them ignore Ctrl-C, and all that they start.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Looking for what nobody can reach goes over all that a worker has imported, again and again: 7% of the tests' time.
gc.set_threshold(50_000, 20, 100)

# A shared machine can be slow at any moment; a slow example is no finding. The same examples each time, so that a test
# fails for a change or not at all; `make nightly` looks for new ones.
settings.register_profile("test", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=300)
settings.load_profile("test")

LIBRARIES = ("torch", "mteb", "mlflow", "wandb", "trackio", "vendors", "openvino")
"""Marks of extras that take seconds to import."""
SLOW = (*LIBRARIES, "browser", "shared")
"""Marks that make a test one of `make test-all`."""

_numbers = count()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--beyond FILE` leaves out what `make test` runs: the fast tests of the places that the file lists."""
    parser.addoption("--beyond", metavar="FILE", help="leave out the fast tests of the places listed in FILE")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What belongs to which tier, and which tests go to one worker (`-n --dist loadgroup`): those that share something
    costly, which is then made once: libraries of some GB, what a folder's tests share, what a module's share."""
    variants = read_places("nightly.txt")
    for item in items:
        if is_listed(item.nodeid, variants):
            item.add_marker("nightly")
        if any(item.get_closest_marker(name) for name in SLOW):
            item.add_marker("slow")
        if item.get_closest_marker("openvino") and find_spec("openvino") is None:
            item.add_marker(pytest.mark.skip(reason="needs the openvino extra"))
        if group := _shared(item):
            item.add_marker(pytest.mark.xdist_group(group))
    if listed := config.getoption("--beyond"):
        quick = read_places(Path(listed).name)
        items[:] = [item for item in items if item.get_closest_marker("slow") or not is_listed(item.nodeid, quick)]


def _shared(item: pytest.Item) -> str | None:
    if item.get_closest_marker("torch") or item.get_closest_marker("mteb"):
        return "torch"
    found = getattr(item, "_fixtureinfo", None)
    used = [one for some in found.name2fixturedefs.values() for one in some] if found else []
    folders = [one.baseid for one in used if one.scope == "session" and one.baseid not in ("", "tests")]
    if folders:
        return max(folders, key=len)
    return str(item.path) if any(one.scope == "module" and one.baseid for one in used) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a fresh checkout half of a collection's time goes into rewriting asserts, and every worker would rewrite all
    modules: so each does its share beforehand, and finds the others' on the disk."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    state = session.config.stash[rewrite.assertstate_key]
    for path in sorted(HERE.rglob("test_*.py"))[int(worker["workerid"][2:]) :: worker["workercount"]]:
        folder = rewrite.get_cache_dir(path)
        kept = folder / (path.stem + rewrite.PYC_TAIL)
        if rewrite._read_pyc(path, kept) is None and rewrite.try_makedirs(folder):
            source, code = rewrite._rewrite_test(path, session.config)
            rewrite._write_pyc(state, code, source, kept)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared(root: Path) -> Path:
    """The development datasets beside the checkout."""
    folder = root / ".." / "shared" / "data"
    if not folder.exists():
        pytest.skip("the development datasets are absent")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures of more than one test make is kept beside the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBASSAY_CACHE", str(tmp_path_factory.getbasetemp() / "caches" / "shared"))
        yield


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache, or another test's; and none waits for the disk, whose contents nobody
    wants after a power cut."""
    folder = tmp_path_factory.getbasetemp() / "caches" / str(next(_numbers))
    monkeypatch.setenv("EMBASSAY_CACHE", str(folder))
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def no_hang() -> Iterator[None]:
    """For what must end soon whatever it is given: fails after a minute of CPU, rather than after hours."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def end(*_: object) -> None:
        raise AssertionError("It takes over a minute of CPU: it would hang on a little more.")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, 60)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True)
class Warm:
    """The beginning of a command line that is `embassay`, and a folder for the PATH that has `embassay` in it."""

    command: list[str]
    path: str


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The command in a process of its own each time, without the seconds that importing takes (`warm_server.py`).
    Killed with -9, it takes that process along. A test of how Python starts the command starts Python itself."""
    # Where pytest's folders lie deep, a path in them is longer than a socket's can be.
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    server = subprocess.Popen([sys.executable, str(HERE / "warm_server.py"), str(folder / "socket")])
    command = [sys.executable, "-SE", str(HERE / "warm_client.py")]
    script = folder / "embassay"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    script.chmod(0o755)
    os.environ["EMBASSAY_WARM"] = str(folder / "socket")
    yield Warm(command, str(folder))
    server.kill()
    server.wait()
    del os.environ["EMBASSAY_WARM"]
    shutil.rmtree(folder)


@dataclass(frozen=True)
class Demo:
    """The finished `embassay demo` of all four protocols: its folder, and what it printed."""

    folder: Path
    said: str


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """One for all tests and workers of a session, to be read only; EMBASSAY_DEMO names the folder of one that is there
    already. Whoever asks first makes it, the others wait."""
    import fcntl

    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    made = os.environ.get("EMBASSAY_DEMO")
    folder = Path(made).absolute() if made else shared / "demo"
    printed = shared / "demo.txt"
    with (shared / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not printed.exists():
            command = [sys.executable, "-m", "embassay", "demo", "--out", made or str(folder)]
            # What `make demo` installs: a demo that is there was made so, and is gone on with.
            env = {**os.environ, "EMBASSAY_BACKEND": "onnx"}
            done = subprocess.run(command, check=False, capture_output=True, timeout=1_800, env=env)
            assert done.returncode == 0, done.stderr.decode()[-2_000:]
            printed.write_bytes(done.stdout)
    return Demo(folder, printed.read_text("utf-8"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium; tests are skipped where there is none. Not for the session: while it is open its driver keeps an
    event loop running, and no other test of the process could start one."""
    if chromium.executable() is None:
        pytest.skip("no Chromium: set EMBASSAY_CHROMIUM")
    pytest.importorskip("playwright.sync_api")
    with chromium.opened() as one:
        yield one
