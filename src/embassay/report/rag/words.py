"""How the pages of RAG call judges, stages, grades and claims."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.rag.golden.summary import Query

STOPPED = {
    "sure": "sure enough",
    "cap": "all calls used",
    "stable": "the top held still",
    "few": "too few to judge",
    "too few to judge": "too few to judge",
    "": "not ordered by the judge",
}
"""Why an engine asked no more."""
CLAIMS = {
    "set_errors_at_most_0": "P(no wrong passage among the first {top})",
    "set_errors_at_most_1": "P(at most one wrong passage among the first {top})",
    "set_errors_at_most_2": "P(at most two wrong passages among the first {top})",
    "overlap": "share of the first {top} that is right",
    "tau": "Kendall’s τ with the judge’s own order",
}
"""What an engine may claim of its order, the surest way to say it first."""
DOUBTS = {
    "fixed errors": "it puts pairs the same way again and yet in circles, so that its errors are fixed, not chance",
    "order shown": "too many answers are just the order in which passages were shown",
    "places": "what is shown first or last gains too much by its place",
    "surprises": "pairs shown again turn out otherwise than its answers let expect",
}
"""Why an engine claims nothing of its order: what it found of the judge."""


def short(name: str) -> str:
    """A judge's spec without the folder and the parameters.

    >>> short("simulated:/data/cranfield/qrels.jsonl?grades=cranfield"), short("ollama:gemma3:27b")
    ('simulated:qrels.jsonl', 'ollama:gemma3:27b')
    """
    target = name.partition("?")[0]
    kind, colon, path = target.partition(":")
    return f"{kind}{colon}{path.rpartition('/')[2]}" if path.startswith(("/", ".", "~")) else target


def told(one: Query, judge: str) -> str:
    """Why a question failed, the judge by its short name."""
    return f"{one.reason.replace(judge, short(judge)).rstrip('.')}."


def failed_list(failed: Sequence[Query], most: int = 4) -> str:
    """The first failed questions with the stage each failed in, and how many more."""
    named = ", ".join(f"{one.query_id} ({one.stage})" for one in failed[:most])
    return named + (f" and {len(failed) - most} more" if len(failed) > most else "")
