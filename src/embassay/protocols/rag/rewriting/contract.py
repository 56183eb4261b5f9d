"""What a rewriter does: it says a question again, as what is to be searched for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from embassay.protocols.rag.judges.contract import Question


class Rewriter(Protocol):
    """States only the core of what a question asks for (spec rag 4). Equal questions have equal rewritings.

    A pack's own rewritings need none: the column `rewrite` of the questions wins.
    """

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its rewritings depend on: version of the rules, model, prompt, sampling."""
        ...

    async def rewrite(self, question: Question) -> str:
        """The question rewritten, never empty.

        A ModelError (Unanswered where a model was asked and gave no rewriting) says why there is none; the question
        itself never takes its place.
        """
        ...


def about(rewriter: Rewriter) -> Mapping[str, Any]:
    """What a manifest says of a rewriter: name and identity, and model, prompt and sampling of one that has them."""
    told = getattr(rewriter, "about", None)
    return {"name": rewriter.name, "identity": rewriter.identity, **(told() if told else {})}
