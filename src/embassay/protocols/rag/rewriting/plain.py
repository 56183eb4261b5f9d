"""Rewriters that ask nobody: the question as it is, and rules."""

from __future__ import annotations

import unicodedata

from embassay.protocols.rag.judges.contract import Question
from embassay.protocols.rag.rewriting.rules import VERSION, rewrite_by_rules


class Identity:
    """The question as it was asked."""

    name = identity = "identity"

    async def rewrite(self, question: Question) -> str:
        """See `Rewriter.rewrite`."""
        return question.text


class Rules:
    """The question without what people say around it, in English and French; see `rewrite_by_rules`."""

    name = "rules"
    identity = f"rules/{VERSION}/unicode-{unicodedata.unidata_version}"

    async def rewrite(self, question: Question) -> str:
        """See `Rewriter.rewrite`."""
        return rewrite_by_rules(question.text)
