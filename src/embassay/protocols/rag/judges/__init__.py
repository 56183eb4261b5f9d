"""Who judges passages: a language model, answers that were recorded, or a simulation from known judgements."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.errors import UsageError
from embassay.protocols.rag.judges.contract import Judge, NoVerdict, Ordering, Passage, Question, Verdict
from embassay.registry import Registry
from embassay.spec import QUERY

if TYPE_CHECKING:
    from embassay.runs.answer_cache import AnswerCache
    from embassay.systems.remote.ledger import Ledger

__all__ = [
    "JUDGES",
    "Judge",
    "NoVerdict",
    "Ordering",
    "Passage",
    "Question",
    "Verdict",
    "about",
    "is_remote",
    "open_judge",
]

JUDGES: Registry[Judge] = Registry("judge", makes=[["grade", "order"]])
"""Every judge by name. A language model needs no name here: `ollama:gemma3:27b` is a judge as it stands."""

JUDGES.add(
    "llm",
    "embassay.protocols.rag.judges.opening:llm",
    "a language model: llm:ollama:gemma3:27b, or ollama:gemma3:27b for short",
    needs="embassay[llm]",
)
JUDGES.add(
    "recorded",
    "embassay.protocols.rag.judges.recorded:open_recorded",
    "grades and orders from a file: recorded:FILE",
)
JUDGES.add(
    "simulated",
    "embassay.protocols.rag.judges.simulated:open_simulated",
    "known judgements with as much noise as you like: simulated:QRELS?order_noise=0.5",
)


def open_judge(
    text: str,
    *,
    ledger: Ledger | None = None,
    cache: AnswerCache | Path | None = None,
    seed: int = 1337,
    longest: int | None = None,
) -> Judge:
    """The judge that a spec string names: a language model (`openai:gpt-5-mini?temperature=0.5`), `recorded:FILE` or
    `simulated:QRELS`.

    `ledger` is what a model pays from, `cache` the file of kept answers (by default the user's) or the opened cache,
    `seed` names what is drawn. `longest` is the UTF-8 bytes of the longest question with the passages that are shown at
    once, from which a server that must be told gets the size of its context. UsageError for unknown names and
    parameters, ModelError when the key or the package of a model is missing, DataError for files that cannot be read.
    """
    spec = QUERY.parse(text)
    context: dict[str, Any] = {"ledger": ledger, "cache": cache, "seed": seed, "longest": longest}
    if spec.name in JUDGES:
        return JUDGES.build(spec, **context)
    from embassay.systems.chat import CHAT_MODELS

    if spec.name not in CHAT_MODELS:
        raise _unknown(spec.name)
    from embassay.protocols.rag.judges.opening import llm

    return llm(text, **context)


def about(judge: Judge) -> Mapping[str, Any]:
    """What a manifest says of a judge: model, sampling, prompts, for what it has of them."""
    told = getattr(judge, "about", None)
    return {"model": judge.name, "temperature": None, "top_p": None, **(told() if told else {})}


def is_remote(text: str) -> bool:
    """Whether this spec names a language model, whose calls cost time and money."""
    name = QUERY.parse(text).name
    return name == "llm" or name not in JUDGES


def _unknown(name: str) -> UsageError:
    from embassay.systems.chat import CHAT_MODELS

    known = [*(one.name for one in JUDGES), *(one.name for one in CHAT_MODELS)]
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    return UsageError(
        f"There is no judge called {name!r}.",
        mend=(f"Did you mean {' or '.join(near)}? " if near else "")
        + f"Use {', '.join(known)}; `embassay list judges` and `embassay list llms` say more.",
    )
