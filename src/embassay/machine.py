"""What this machine offers: a card to multiply on, and a folder for what need not be done twice.

`$EMBASSAY_DEVICE` says otherwise: `cpu`, `cuda` or `cuda:1`. Where there is no card torch is not imported, which takes
seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

from embassay.errors import UsageError

HANGUP: tuple[signal.Signals, ...] = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
"""What a terminal that closes sends; Windows has no such signal."""

F = TypeVar("F", bound=Callable[..., Any])


def compile_with_numba_on_first_call(function: F) -> F:
    """A function of numbers and arrays, compiled when it is first called; it lets other threads run meanwhile."""
    from numba import njit

    try:
        return cast(F, njit(cache=True, nogil=True)(function))
    except RuntimeError:
        # numba found no folder to keep the machine code in (a read-only installation without a home).
        return cast(F, njit(nogil=True)(function))


def find_cache_folder() -> Path:
    """`$EMBASSAY_CACHE`, or the platform's cache folder."""
    chosen = os.environ.get("EMBASSAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("embassay")


def find_corpus_folder() -> Path:
    """Find the folder in which the texts of large corpora are kept."""
    return find_cache_folder() / "corpora"


VARIABLE = "EMBASSAY_DEVICE"
_DRIVER = Path("/proc/driver/nvidia/version")


def read_requested_device() -> str | None:
    """What `$EMBASSAY_DEVICE` names, in torch's words; None where that is left to what there is. UsageError for what
    is neither a processor nor a card."""
    named = os.environ.get(VARIABLE, "").strip().lower() or "auto"
    if named != "auto" and not re.fullmatch(r"cpu|cuda(:\d+)?", named):
        raise UsageError(
            f"{VARIABLE} is {named!r}, which is not a device.", mend="Set it to auto, cpu, cuda or cuda:1."
        )
    return None if named == "auto" else named


def choose_cuda_card() -> str | None:
    """The CUDA card to use, in torch's words; None for the processor. UsageError where one is asked for that is not
    there."""
    named = read_requested_device()
    if named == "cpu" or (named is None and not _is_cuda_card_possible()):
        return None
    missing = _explain_missing_graphics_card(named)
    if named is not None and missing:
        raise UsageError(
            f"{VARIABLE} is {named}, but {missing}.",
            mend=f"Install torch for CUDA (pip install 'embassay[torch]'), or set {VARIABLE}=cpu.",
        )
    return None if missing else named or "cuda"


def _is_cuda_card_possible() -> bool:
    """Whether a CUDA card is possible, so that it is worth importing torch to ask it."""
    if "torch" in sys.modules:
        return True
    return _has_torch() and (_DRIVER.exists() or shutil.which("nvidia-smi") is not None)


@cache
def _has_torch() -> bool:
    return find_spec("torch") is not None


@cache
def _explain_missing_graphics_card(asked: str | None) -> str:
    """Explain why there is no card as it is asked for; empty where there is one."""
    if not _has_torch():
        return "torch is not installed"
    import torch

    if not torch.cuda.is_available():
        return "torch finds no CUDA card"
    number = int((asked or "cuda:0").partition(":")[2] or 0)
    if number >= torch.cuda.device_count():
        return f"there are {torch.cuda.device_count()} cards; the first is cuda:0"
    return ""


def count_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
