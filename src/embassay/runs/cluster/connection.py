"""Joining a cluster, or starting one of this machine alone; what goes wrong is one line and its mend."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from embassay.accelerator import VARIABLE, card
from embassay.errors import UsageError
from embassay.runs.cluster.address import check_address, nobody
from embassay.runs.cluster.library import library
from embassay.runs.engines.contract import Ray

_FORWARDED = (
    "EMBASSAY_CACHE",
    "EMBASSAY_DATA",
    "TIKTOKEN_CACHE_DIR",
    "HF_HOME",
    "HF_HUB_OFFLINE",
    "PYTHONPATH",
)
"""Where data, models and vocabularies lie: the same on all machines, where it is said at all."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@contextmanager
def connected(chosen: Ray) -> Iterator[Any]:
    """The library, connected; a cluster that was started for this is stopped at the end, one that was joined is left.
    A connection that this process has already is used as it is. UsageError where there is no such cluster, or none
    that this process can join."""
    ray = library()
    if ray.is_initialized():
        yield ray
        return
    if chosen.address is not None:
        check_address(chosen.address)
    with _same_signals(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _initialised(ray, chosen)
    _silence(ray)
    try:
        yield ray
    finally:
        ray.shutdown()


def threads() -> dict[str, str]:
    """How many threads numeric libraries use here, as environment variables: Ray would give each task as many as it
    has CPUs, and the last bits of a sum can depend on that."""
    given = {name: os.environ[name] for name in _THREADS if os.environ.get(name)}
    return {"OMP_NUM_THREADS": str(cores()), **given}


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _initialised(ray: Any, chosen: Ray) -> None:
    environment = {name: os.environ[name] for name in _FORWARDED if os.environ.get(name)} | threads()
    # What this machine has decides: a cell's key says which device its vectors are of.
    environment[VARIABLE] = "cpu" if card() is None else "auto"
    common = {
        "log_to_driver": False,
        "logging_level": logging.CRITICAL,
        "runtime_env": {"env_vars": environment},
    }
    try:
        if chosen.address is None:
            # Not whatever RAY_ADDRESS names: this one is for the run.
            ray.init("local", num_cpus=cores(), include_dashboard=False, **common)
        else:
            with _heard() as heard:
                ray.init(chosen.address, **common)
    except (Exception, SystemExit) as error:  # Ray raises all kinds, a bare Exception too
        if chosen.address is None:
            raise UsageError(f"Ray could not be started here: {_brief(error)}", mend=_MEND_START) from error
        if any("InvalidAuthToken" in line for line in heard):
            raise UsageError(
                f"The Ray cluster at {chosen.address} asks for its token.", mend=_MEND_TOKEN
            ) from error
        if isinstance(error, RuntimeError):
            raise UsageError(f"Ray does not join: {_brief(error)}", mend=_MEND_VERSION) from error
        raise nobody(chosen.address, _brief(error)) from error


def _silence(ray: Any) -> None:
    """What Ray says of lost machines goes to stdout whatever it was told, amid --json; its logs have it too."""
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


_MEND_START = (
    "See the logs in /tmp/ray/session_latest/logs: /dev/shm and the memory must have room; a very busy machine can "
    "take too long."
)
_MEND_TOKEN = (
    "Set RAY_AUTH_MODE=token here; the token is what `ray get-auth-token` prints there: put it into ~/.ray/auth_token "
    "or RAY_AUTH_TOKEN."
)
_MEND_VERSION = "Use the same versions of Python and Ray here and on all machines of the cluster."


@contextmanager
def _heard() -> Iterator[list[str]]:
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


def _brief(error: BaseException) -> str:
    """An error of Ray's in one line: it tells versions on lines of their own."""
    if isinstance(error, SystemExit):
        return "it does not speak as Ray does"
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    return " ".join(line for line in lines if line)[:300]


@contextmanager
def _same_signals() -> Iterator[None]:
    """Ray answers SIGTERM by itself once it is started; the run has its own answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, answer in before.items():
            if answer is not None:
                signal.signal(one, answer)
