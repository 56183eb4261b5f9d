"""Who puts questions in the words of a search: nobody, rules, or a language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from embassay.protocols.rag.judges import Question
from embassay.registry import Registry

if TYPE_CHECKING:
    from embassay.runs.store import AnswerCache
    from embassay.systems.remote.ledger import Ledger

__all__ = ["REWRITERS", "Rewriter", "about", "open_rewriter"]

REWRITERS: Registry[Rewriter] = Registry("rewriter", makes=[["rewrite"]])
"""Every rewriter by name; other packages join through the entry-point group `embassay.rewriters`."""

REWRITERS.add("identity", "embassay.protocols.rag.rewriters.rules:Identity", "the question as it was asked")
REWRITERS.add(
    "rules",
    "embassay.protocols.rag.rewriters.rules:Rules",
    "without greetings, politeness, filler, apologies, emoji and digressions, in English and French",
)
REWRITERS.add(
    "llm",
    "embassay.protocols.rag.rewriters.llm:open_llm",
    "a language model states the core of the question: llm:ollama:gemma3:27b",
    needs="embassay[llm]",
)


def open_rewriter(
    text: str,
    *,
    ledger: Ledger | None = None,
    cache: AnswerCache | Path | None = None,
    seed: int = 1337,
) -> Rewriter:
    """The rewriter that a spec string names: `identity`, `rules`, or `llm:` and any chat model with its parameters
    (`llm:openai:gpt-5-mini?temperature=0`).

    `ledger` is what a model pays from, `cache` the file of kept answers (by default the user's) or the opened cache,
    `seed` names what is drawn. UsageError for unknown names and parameters, ModelError when the key or the package of a
    model is missing.
    """
    return REWRITERS.build(text, ledger=ledger, cache=cache, seed=seed)


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
