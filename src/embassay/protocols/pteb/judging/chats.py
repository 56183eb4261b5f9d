"""Language models as systems of a run: described for a plan, and opened with their answers kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.contracts import ChatModel
from embassay.errors import UsageError
from embassay.protocols.kernel.plan import PlannedSystem
from embassay.protocols.kernel.session import unknown_price
from embassay.protocols.pteb.paraphrasing.llm import suited
from embassay.protocols.pteb.paraphrasing.paraphrasers import licence_of
from embassay.protocols.pteb.paraphrasing.prompts import judge_prompt
from embassay.runs.answers import AnswerCache, CachedChat
from embassay.systems.chat import CHAT_MODELS, open_chat
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import Price


@dataclass(frozen=True)
class Judge:
    """A model that rates pairs; `longest` is the UTF-8 bytes of the longest pair of the whole run, from which a server
    that must be told gets the size of its context."""

    spec: str
    longest: int = 0

    def open(self, ledger: Ledger | None = None) -> ChatModel:
        """The model; one for all cells of a run, so that what is learnt of its server's pace is not learnt again."""
        return _opened(self, ledger)

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None where that is not known."""
        price = getattr(self.open(), "price", None)
        return price if isinstance(price, Price) else None

    @contextmanager
    def with_kept_answers(self, ledger: Ledger | None, cache: Path | None) -> Iterator[CachedChat]:
        """The model behind the answers in the file `cache`, by default the user's."""
        with closing(AnswerCache.open(cache)) as answers:
            yield CachedChat(self.open(ledger), answers)


@lru_cache(maxsize=16)
def _opened(judge: Judge, ledger: Ledger | None) -> ChatModel:
    return suited(open_chat(judge.spec, ledger=ledger), judge_prompt(), judge.longest)


def check_named(specs: Sequence[str]) -> None:
    """UsageError for a spec that names no language model, and for none at all."""
    if not specs:
        raise UsageError("No language model is named.", mend="Name one, such as ollama:gemma3:27b.")
    for spec in specs:
        CHAT_MODELS.parse(spec)


def planned_judges(specs: Sequence[str], longest: int, ledger: Ledger | None) -> list[PlannedSystem]:
    """The judges, each once however it was spelled. UsageError for one without a price where the cost is limited."""
    found = [planned_judge(Judge(spec, longest), ledger) for spec in dict.fromkeys(specs)]
    return list({one.name: one for one in found}.values())


def planned_judge(judge: Judge, ledger: Ledger | None) -> PlannedSystem:
    """One judge as a plan knows it."""
    chat, price = judge.open(ledger), judge.price
    if price is None and ledger is not None and ledger.max_usd is not None:
        raise unknown_price(chat.name)
    return PlannedSystem(judge.spec, chat.name, chat.identity, "llm", facts_of_chat(judge.spec, chat, price))


def facts_of_chat(spec: str, chat: ChatModel, price: Price | None) -> dict[str, Any]:
    """What a model's card says."""
    told = {
        "licence": licence_of(spec) or None,
        "num_ctx": getattr(chat, "num_ctx", None),
        "usd_per_million_input": price.usd_per_million_input if price else None,
        "usd_per_million_output": price.usd_per_million_output if price else None,
        "summary": CHAT_MODELS.get(CHAT_MODELS.parse(spec).name).summary,
    }
    return {name: value for name, value in told.items() if value is not None}
