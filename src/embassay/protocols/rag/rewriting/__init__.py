"""Who puts questions in the words of a search: nobody, rules, or a language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from embassay.protocols.rag.rewriting.contract import Rewriter, about
from embassay.registry import Registry

if TYPE_CHECKING:
    from embassay.runs.answer_cache import AnswerCache
    from embassay.systems.remote.ledger import Ledger

__all__ = ["REWRITERS", "Rewriter", "about", "open_rewriter"]

REWRITERS: Registry[Rewriter] = Registry("rewriter", makes=[["rewrite"]])
"""Every rewriter by name; other packages join through the entry-point group `embassay.rewriters`."""

REWRITERS.add("identity", "embassay.protocols.rag.rewriting.plain:Identity", "the question as it was asked")
REWRITERS.add(
    "rules",
    "embassay.protocols.rag.rewriting.plain:Rules",
    "without greetings, politeness, filler, apologies, emoji and digressions, in English and French",
)
REWRITERS.add(
    "llm",
    "embassay.protocols.rag.rewriting.llm:open_llm",
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
