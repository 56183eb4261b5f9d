"""What a manifest says of the machine and the software a run used."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "bm25s", "numba", "numpy", "onnxruntime", "openvino", "polars", "rapidfuzz", "scikit-learn", "scipy", "tiktoken",
    "tokenizers", "wordllama",
)  # fmt: skip


def hardware() -> dict[str, Any]:
    """Processor, cores, memory and platform; what cannot be found is None."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def memory() -> int | None:
    """The memory that is built in, in bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _memory_gib() -> float | None:
    built_in = memory()
    return None if built_in is None else round(built_in / 2**30, 1)
