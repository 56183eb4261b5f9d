"""Runs of the `embassay` command from a process that has imported it: `python warm_server.py SOCKET`.

Hundreds of tests start the command, and importing what a run needs takes longer than most of these runs. A connection
brings the arguments, the folder, the environment and the three standard streams of a client (`warm_client.py`); each is
answered by a process of its own, forked before anything was done, with the exit code at its end. What depends on how
Python or a library is started (the seed of hashes, numbers of threads) is declined: the client starts Python itself.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

STARTED_WITH = ("PYTHON", "NUMBA", "OMP_", "OPENBLAS_", "MKL_", "POLARS_", "LD_", "MALLOC_")
# PYTHONPATH is followed (`_see`); what it hides is hidden where nothing of it has been imported.
HARMLESS = ("PYTHONIOENCODING", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
LIBRARIES = (
    "httpx2", "numba", "openai", "polars", "jinja2", "rich.progress", "rich.table", "safetensors.numpy",
    "scipy.optimize", "scipy.stats", "sklearn.metrics", "tokenizers", "yaml",
)  # fmt: skip
COLD = b"cold"


def main() -> None:
    """Answer clients until the process that started this one is gone."""
    path = sys.argv[1]
    _import_all()
    started_with = _of_the_start(dict(os.environ))
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path + ".part")
        listening.listen(64)
        Path(path + ".part").rename(path)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        parent = os.getppid()
        while os.getppid() == parent:
            if not select.select([listening], [], [], 1.0)[0]:
                continue
            client, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(client, started_with)
            client.close()


def _import_all() -> None:
    """Everything of the command, as far as its libraries are installed; none of it begins a thread."""
    package = importlib.import_module("embassay")
    for one in pkgutil.walk_packages(package.__path__, "embassay."):
        if not one.name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(one.name)
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)
    # The first report compiles its templates, and the first compiled function makes the compiler ready.
    pages = importlib.import_module("embassay.report.html").make_template_environment()
    for name in pages.list_templates(["html"]):
        pages.get_template(name)
    importlib.import_module("numba").njit(lambda one: one)(1)


def _of_the_start(environment: dict[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(STARTED_WITH) and name not in HARMLESS
    }


def _answer(client: socket.socket, started_with: dict[str, str]) -> None:
    """One command in a process of its own, which is killed with its client; never returns."""
    data, streams, _, _ = socket.recv_fds(client, 2**20, 3)
    while not data.endswith(b"\0"):
        data += client.recv(2**20)
    asked = json.loads(data[:-1])
    if _of_the_start(asked["environment"]) != started_with:
        client.sendall(COLD)
        os._exit(0)
    process = os.fork()
    if process == 0:
        client.close()
        _command(asked, streams)
    for stream in streams:
        os.close(stream)
    client.sendall(b"%d\n" % process)
    with suppress(OSError):
        watched = os.pidfd_open(process)
        while watched not in select.select([watched, client], [], [])[0]:
            os.kill(process, signal.SIGKILL)  # the client is gone
        status = os.waitpid(process, 0)[1]
        client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _command(asked: dict[str, object], streams: list[int]) -> None:
    """The command as `python -m embassay` does it; never returns."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    environment = dict(asked["environment"])  # type: ignore[call-overload]
    os.chdir(str(asked["folder"]))
    os.environ.clear()
    os.environ.update(environment)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["embassay", *asked["arguments"]]  # type: ignore[misc]
    sys.path[0] = str(asked["folder"])
    _see(environment.get("PYTHONPATH", ""))
    code = 1
    try:
        importlib.import_module("embassay.cli.main").run()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _see(path: str) -> None:
    """Find what lies in the folders of PYTHONPATH, before all else that was found already."""
    named = [folder for folder in path.split(os.pathsep) if folder]
    sys.path[1:] = [*named, *(folder for folder in sys.path[1:] if folder not in named)]


if __name__ == "__main__":
    main()
