"""The six stages of a golden set, a module each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embassay.protocols.rag.golden.stages import Step
    from embassay.protocols.rag.golden.work import Work


def all_steps(work: Work) -> list[Step]:
    """S1 to S6 for a run."""
    from embassay.protocols.rag.golden.steps.cut import Cut
    from embassay.protocols.rag.golden.steps.fuse import Fusion
    from embassay.protocols.rag.golden.steps.grade import Grades
    from embassay.protocols.rag.golden.steps.order import Order
    from embassay.protocols.rag.golden.steps.retrieve import Retrieval
    from embassay.protocols.rag.golden.steps.rewrite import Rewriting

    return [Rewriting(work), Retrieval(work), Fusion(work), Grades(work), Cut(work), Order(work)]
