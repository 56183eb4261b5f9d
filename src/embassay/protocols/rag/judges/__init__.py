"""Who judges passages: a language model, answers that were recorded, or a simulation from known judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from embassay.errors import Unanswered, UsageError, Why
from embassay.registry import Registry
from embassay.spec import QUERY

if TYPE_CHECKING:
    from embassay.runs.store import ChatAnswerCache
    from embassay.systems.remote.ledger import Ledger

__all__ = [
    "JUDGES",
    "GradeVerdict",
    "Judge",
    "NoValidJudgement",
    "Passage",
    "PassageOrdering",
    "Question",
    "build_judge_record",
    "is_language_model_spec",
    "open_judge",
]

JUDGES: Registry[Judge] = Registry("judge", makes=[["grade", "order"]])
"""Every judge by name. A language model needs no name here: `ollama:gemma3:27b` is a judge as it stands."""

JUDGES.add(
    "llm",
    "embassay.protocols.rag.judges.chat:open_llm_judge",
    "a language model: llm:ollama:gemma3:27b, or ollama:gemma3:27b for short",
    needs="embassay[llm]",
)
JUDGES.add(
    "recorded",
    "embassay.protocols.rag.judges.simulation:open_recorded_judge",
    "grades and orders from a file: recorded:FILE",
)
JUDGES.add(
    "simulated",
    "embassay.protocols.rag.judges.simulation:open_simulated_judge",
    "known judgements with adjustable noise: simulated:QRELS?order_noise=0.5",
)


def open_judge(
    text: str,
    *,
    ledger: Ledger | None = None,
    cache: ChatAnswerCache | Path | None = None,
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
        raise _make_unknown_judge_error(spec.name, text)
    from embassay.protocols.rag.judges.chat import open_llm_judge

    return open_llm_judge(text, **context)


def build_judge_record(judge: Judge) -> Mapping[str, Any]:
    """What a manifest says of a judge: model, sampling, prompts, for what it has of them."""
    told = getattr(judge, "about", None)
    return {"model": judge.name, "temperature": None, "top_p": None, **(told() if told else {})}


def is_language_model_spec(text: str) -> bool:
    """Whether this spec names a language model, whose calls cost time and money."""
    name = QUERY.parse(text).name
    return name == "llm" or name not in JUDGES


def _make_unknown_judge_error(name: str, text: str) -> UsageError:
    from embassay.systems.chat import CHAT_MODELS
    from embassay.systems.models import describe_fix_for_unknown_chat_model

    known = [*(judge.name for judge in JUDGES), *(model.name for model in CHAT_MODELS)]
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    return UsageError(
        f"There is no judge called {name!r}.",
        mend=describe_fix_for_unknown_chat_model(text)
        + (f"Did you mean {' or '.join(near)}? " if near else "")
        + f"Use {', '.join(known)}; `embassay list judges` and `embassay list llms` describe them.",
    )


@dataclass(frozen=True)
class Question:
    """A question as the user asks it, never its rewriting (spec rag, ambiguity 24)."""

    id: str
    text: str


@dataclass(frozen=True)
class Passage:
    """A candidate: its id, and its text as a reader sees it, with the breadcrumb of a chunk."""

    id: str
    text: str


@dataclass(frozen=True)
class GradeVerdict:
    """A grade from 1 to 5 after so many `attempts`; `rejected` are the answers before it that were none, in words."""

    grade: int
    attempts: int = 1
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True)
class PassageOrdering:
    """The positions of the passages that were shown, best first: a permutation of range(n).

    Where a repair was allowed, the last `missing` of them are those that the answer left out, as they were shown, and
    `unknown` labels of it stood for nothing or for a second time.
    """

    order: tuple[int, ...]
    attempts: int = 1
    rejected: tuple[str, ...] = ()
    missing: int = 0
    unknown: int = 0


class NoValidJudgement(Unanswered):
    """No attempt brought an answer that is one; `rejected` says what was wrong with each, in words whose part before
    the colon is the kind of the fault."""

    def __init__(self, message: str, rejected: Sequence[str], why: Why = "empty") -> None:
        super().__init__(message, why)
        self.rejected = tuple(rejected)


UNREADABLE = "no readable answer"


def make_unreadable_answers_error(name: str, rejected: Sequence[str], why: Why = "empty") -> NoValidJudgement:
    """The error of a judge whose answers were all rejected."""
    return NoValidJudgement(
        f"{name} gave {UNREADABLE} in {len(rejected)} attempts, the last: {rejected[-1].rstrip('.')}.", rejected, why
    )


class Judge(Protocol):
    """Judges passages for a question. Equal calls have equal answers; `draw` tells repeats of one call apart.

    Both methods raise `Unanswered` when no attempt (6 by default) brought an answer that is one,
    another ModelError
    when the judge cannot be had, BudgetExceeded at the limit of cost. What is bought is kept.
    """

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its answers depend on: model, prompts, sampling."""
        ...

    async def grade(self, question: Question, passage: Passage, *, draw: int = 0) -> GradeVerdict:
        """Grade how well the passage answers the question, 1 to 5 (spec rag 1.1)."""
        ...

    async def order(
        self, question: Question, passages: Sequence[Passage], *, draw: int = 0, repair: bool = False
    ) -> PassageOrdering:
        """The passages, shown in this order, best first. With `repair` an answer that leaves passages out or names
        others is mended (spec rag 4.2, single-shot) in place of asking again."""
        ...
