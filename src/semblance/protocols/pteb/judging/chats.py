"""Language models as systems of a run: described for a plan, and opened with their answers kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path

from semblance.contracts import ChatModel
from semblance.errors import UsageError
from semblance.protocols.planning import PlannedSystem
from semblance.protocols.session import unknown_price
from semblance.runs.answer_cache import AnswerCache
from semblance.runs.cached_chat import CachedChat
from semblance.systems.chat import CHAT_MODELS, open_chat
from semblance.systems.remote import Ledger
from semblance.systems.remote.price import Price


@lru_cache(maxsize=16)
def opened(spec: str, ledger: Ledger | None) -> ChatModel:
    """The chat model; one for all cells of a run, so that what is learnt of its server's pace is not learnt again."""
    return open_chat(spec, ledger=ledger)


@contextmanager
def with_kept_answers(spec: str, ledger: Ledger | None, cache: Path | None) -> Iterator[CachedChat]:
    """The chat model in front of the answers in the file `cache`, by default the user's."""
    with closing(AnswerCache.open(cache)) as answers:
        yield CachedChat(opened(spec, ledger), answers)


def planned_chats(specs: Sequence[str], ledger: Ledger | None) -> list[PlannedSystem]:
    """The models, each once however it was spelled. UsageError for a spec that is none, before any is opened, and for
    one without a price where the cost is limited."""
    if not specs:
        raise UsageError("No language model is named.", mend="Name one, such as ollama:gemma3:27b.")
    for spec in specs:
        CHAT_MODELS.parse(spec)
    found = [planned_chat(spec, ledger) for spec in dict.fromkeys(specs)]
    return list({one.name: one for one in found}.values())


def planned_chat(spec: str, ledger: Ledger | None) -> PlannedSystem:
    """One model as a plan knows it."""
    chat, price = opened(spec, ledger), price_of(spec, ledger)
    if price is None and ledger is not None and ledger.max_usd is not None:
        raise unknown_price(chat.name)
    entry = CHAT_MODELS.get(CHAT_MODELS.parse(spec).name)
    facts = {
        "usd_per_million_input": price.usd_per_million_input if price else None,
        "usd_per_million_output": price.usd_per_million_output if price else None,
        "summary": entry.summary,
    }
    return PlannedSystem(spec, chat.name, chat.identity, "llm", facts)


def price_of(spec: str, ledger: Ledger | None) -> Price | None:
    """What its tokens cost; None where that is not known."""
    price = getattr(opened(spec, ledger), "price", None)
    return price if isinstance(price, Price) else None
