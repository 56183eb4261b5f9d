"""PTEB: how much of a benchmark score is left when every text is freshly paraphrased at evaluation time.

Frank, Afli, "PTEB: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation Time with LLMs",
EACL 2026.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embassay.protocols.pteb.judging.protocol import judge
    from embassay.protocols.pteb.options import Request
    from embassay.protocols.pteb.plan import make_plan
    from embassay.protocols.pteb.protocol import run
    from embassay.protocols.pteb.selection.protocol import paraphrasers
    from embassay.protocols.tasks import TASKS
    from embassay.protocols.tasks.task import PtebOptions

__all__ = ["TASKS", "PtebOptions", "Request", "judge", "make_plan", "paraphrasers", "run"]

_HOMES = {
    "TASKS": "embassay.protocols.tasks",
    "PtebOptions": "embassay.protocols.tasks.task",
    "Request": "embassay.protocols.pteb.options",
    "judge": "embassay.protocols.pteb.judging.protocol",
    "make_plan": "embassay.protocols.pteb.plan",
    "paraphrasers": "embassay.protocols.pteb.selection.protocol",
    "run": "embassay.protocols.pteb.protocol",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
