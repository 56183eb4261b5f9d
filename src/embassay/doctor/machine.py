"""The machine as a process of ours sees it: what it may use, not what is built in."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embassay.errors import UsageError
from embassay.machine import VARIABLE, card
from embassay.runs.folder import memory

_GROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60


@dataclass(frozen=True)
class Machine:
    """Cores that this process may use of those there are; memory in bytes, `free` what could be had now, both within
    the limit of a container; the accelerators that NVIDIA's driver names; the `device` that a run would use (`cuda`,
    `cuda:1`, `cpu`), in `device_words` with the reason; the cache folder and the bytes free on its
    disk. What cannot be found is None."""

    python: str
    platform: str
    cores: int
    cores_built_in: int
    memory: int | None
    free: int | None
    accelerators: tuple[str, ...]
    device: str | None
    device_words: str
    cache: Path
    disk_free: int | None


def look(cache: Path) -> Machine:
    """Look at this machine; `cache` need not exist yet."""
    total, free = _memory()
    built_in = os.cpu_count() or 1
    accelerators = _accelerators()
    device, words = chosen_device(accelerators)
    return Machine(
        platform.python_version(), f"{platform.system()} {platform.machine()}", _cores(built_in), built_in,
        total, free, accelerators, device, words, cache, _disk_free(cache),
    )  # fmt: skip


def chosen_device(accelerators: Sequence[str]) -> tuple[str | None, str]:
    """What vectors would be made and searched on, and why; None, with the mend, where what is asked for is not there.
    `accelerators` are those that the driver names."""
    asked = os.environ.get(VARIABLE, "").strip()
    try:
        found = card()
    except UsageError as error:
        return None, f"none, and every run with vectors stops. {error}"
    if found is not None:
        return found, f"{found}{f', as {VARIABLE} says' if asked else ''}"
    if asked.lower() == "cpu":
        return "cpu", f"the processor, as {VARIABLE} says"
    if accelerators:
        return (
            "cpu",
            "the processor, though there is a card: torch for CUDA is not installed, or does not find it",
        )
    return "cpu", "the processor: there is no CUDA card"


def _cores(built_in: int) -> int:
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else built_in
    quota = _read(_GROUP / "cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit() and int(quota[1]) > 0:
        return max(1, min(affinity, int(quota[0]) // int(quota[1])))
    return affinity


def _memory() -> tuple[int | None, int | None]:
    """What is built in, and what /proc calls available; less where a container allows less."""
    rows = (line.split() for line in _read(Path("/proc/meminfo")).splitlines())
    available = next((row[1] for row in rows if row[:1] == ["MemAvailable:"] and row[1:]), "")
    total, free = memory(), int(available) * 1024 if available.isdigit() else None
    limit = _number(_GROUP / "memory.max") or _number(_GROUP / "memory" / "memory.limit_in_bytes")
    if total is None or limit is None or limit >= min(total, _UNLIMITED):
        return total, free
    used = _number(_GROUP / "memory.current") or _number(_GROUP / "memory" / "memory.usage_in_bytes") or 0
    return limit, limit - used if free is None else min(free, limit - used)


def _accelerators() -> tuple[str, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    asked = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in told.splitlines() if line.strip())


def _disk_free(folder: Path) -> int | None:
    existing = next((one for one in (folder, *folder.absolute().parents) if one.exists()), None)
    try:
        return None if existing is None else shutil.disk_usage(existing).free
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
