"""SAGE: human preference, robustness, sensitivity, clustering and retrieval under corruption.

Goel, Lee, Ramchandran, "SAGE: A Realistic Benchmark for Semantic Understanding", NeurIPS 2025 workshop.
"""

from typing import TYPE_CHECKING

from embassay.registry import make_lazy_getattr

if TYPE_CHECKING:
    from embassay.protocols.sage.options import Request, SageOptions
    from embassay.protocols.sage.protocol import make_plan, run
    from embassay.protocols.sage.tasks import TASKS

__all__ = ["TASKS", "Request", "SageOptions", "make_plan", "run"]

_HOMES = {"TASKS": "tasks", "Request": "options", "SageOptions": "options", "make_plan": "protocol", "run": "protocol"}

__getattr__ = make_lazy_getattr(__name__, _HOMES)
