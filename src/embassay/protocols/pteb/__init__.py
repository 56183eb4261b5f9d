"""PTEB: how much of a benchmark score is left when every text is freshly paraphrased at evaluation time.

Frank, Afli, "PTEB: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation Time with LLMs",
EACL 2026.
"""

from typing import TYPE_CHECKING

from embassay.registry import make_lazy_getattr

if TYPE_CHECKING:
    from embassay.protocols.pteb.judging import judge
    from embassay.protocols.pteb.options import Request
    from embassay.protocols.pteb.plan import make_plan
    from embassay.protocols.pteb.protocol import run
    from embassay.protocols.pteb.selection import paraphrasers
    from embassay.protocols.tasks import TASKS
    from embassay.protocols.tasks.task import PtebOptions

__all__ = ["TASKS", "PtebOptions", "Request", "judge", "make_plan", "paraphrasers", "run"]

_HOMES = {
    "TASKS": "tasks",
    "PtebOptions": "tasks.task",
    "Request": "pteb.options",
    "judge": "pteb.judging",
    "make_plan": "pteb.plan",
    "paraphrasers": "pteb.selection",
    "run": "pteb.protocol",
}

__getattr__ = make_lazy_getattr("embassay.protocols", _HOMES)
