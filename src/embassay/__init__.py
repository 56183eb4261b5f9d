"""Embassay: does similarity mean what people think it means, under the conditions it will really meet?

    import embassay as eb

    run = eb.sage.run(["minilm", "bm25"], datasets=["notes.jsonl"])    # also eb.pteb.run, eb.rag.*, eb.hume.*
    eb.open_run("runs/notes"), eb.compare(run, a="minilm", b="bm25"), eb.gate(run, "sage.overall[minilm]>=0.45")
    eb.open_system("wordllama").pairs(["a fox"], ["a vixen"])
    eb.calibration("runs/pairs").probability("a fox", "a vixen")
    eb.choose(["minilm", "bm25"], "docs/").table("choice")

The parts load when they are first used: `embassay.sage`, `embassay.measures`, `embassay.stats` and so on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embassay import data, interchange, measures, report, search, stats, systems, text
    from embassay.protocols import hteb, hume, pteb, rag, sage
    from embassay.protocols.calibration import calibrate, calibration
    from embassay.protocols.choose import choose
    from embassay.protocols.compare import compare
    from embassay.protocols.gate import gate
    from embassay.protocols.kernel.outcome import open_run
    from embassay.systems import open_system

__version__ = "0.1.0"
__all__ = [
    "__version__", "calibrate", "calibration", "choose", "compare", "data", "gate", "hteb", "hume", "interchange",
    "measures", "open_run", "open_system", "pteb", "rag", "report", "sage", "search", "stats", "systems", "text"
]  # fmt: skip

_HOMES = {
    "calibrate": "protocols.calibration",
    "calibration": "protocols.calibration",
    "choose": "protocols.choose",
    "compare": "protocols.compare",
    "gate": "protocols.gate",
    "open_run": "protocols.kernel.outcome",
    "open_system": "systems",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"embassay.{_HOMES[name]}"), name)
    if name in ("sage", "pteb", "hteb", "rag", "hume"):
        return import_module(f"embassay.protocols.{name}")
    if name in __all__:
        return import_module(f"embassay.{name}")
    raise AttributeError(f"module 'embassay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
