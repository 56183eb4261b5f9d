"""Who writes questions and who checks them: opened, priced, given passages, and every draft kept when it is decided."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from embassay.contracts import ChatModel
from embassay.data.check.figures import Nearness, Sketches
from embassay.data.documents import Placed
from embassay.errors import DataError
from embassay.limits import WHOLE, read_bounded
from embassay.protocols.kernel.plan import PlannedSystem
from embassay.protocols.kernel.session import Silent, unknown_price
from embassay.protocols.questions.drafts import Draft, Writer, check_messages, write_messages
from embassay.protocols.questions.options import QuestionsOptions
from embassay.randomness import random_bytes
from embassay.runs.execution import Failure, all_of
from embassay.runs.folder import to_json
from embassay.runs.forecast import Forecast, remote_seconds
from embassay.runs.store import AnswerCache, CachedChat
from embassay.systems.chat import open_chat
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import likely_tokens

DRAFTS = "drafts.jsonl"
"""The file of a run with every draft that is decided."""
_ANSWER = 700
"""Tokens that an answer may have."""
_WRITTEN, _CHECKED = 70, 35
"""Tokens of usual answers."""
Drawn = Mapping[str, Sequence[Placed]]
"""Kind of question -> the passages that it is to be asked about."""


def writer_of(
    llm: str, checker: str, options: QuestionsOptions, seed: int, cache: Path | None, ledger: Ledger | None
) -> Writer:
    """The chat model that writes and the one that checks (empty: the same), with their kept answers. ModelError for one
    that cannot be opened."""
    answers = AnswerCache.open(cache)
    chat = CachedChat(_opened(llm, ledger), answers)
    return Writer(chat, CachedChat(_opened(checker, ledger), answers) if checker else chat, options, seed)


def _opened(spec: str, ledger: Ledger | None) -> ChatModel:
    chat = open_chat(spec, ledger=ledger)
    suit = getattr(chat, "suited", None)
    return chat if suit is None else suit(tokens=_ANSWER + 4_000, think=False)


def planned(llm: str, checker: str, writer: Writer, ledger: Ledger | None) -> tuple[PlannedSystem, ...]:
    """Both as a manifest tells them. UsageError where the cost is limited and a price is not known."""
    roles = [(llm, writer.chat, "writes questions")]
    if checker:
        roles.append((checker, writer.checker, "checks that its passage answers a question"))
    found = []
    for spec, chat, role in roles:
        price = getattr(chat.model, "price", None)
        if price is None and ledger is not None and ledger.max_usd is not None:
            raise unknown_price(chat.name)
        facts: dict[str, Any] = {"summary": role}
        if price is not None:
            facts["usd_per_million_input"] = price.usd_per_million_input
            facts["usd_per_million_output"] = price.usd_per_million_output
        found.append(PlannedSystem(spec, chat.name, chat.identity, "llm", facts))
    return tuple(found)


def draw_passages(
    passages: Sequence[Placed], kinds: Sequence[str], options: QuestionsOptions, seed: int, corpus: str
) -> dict[str, tuple[Placed, ...]]:
    """Kind -> the passages that a model is to ask about, drawn by id and seed; none twice while there are others.
    DataError where none is long enough."""
    fit = [one for one in passages if len(one.body.split()) >= options.words]
    used: dict[str, int] = {}
    drawn = {}
    for kind in kinds:
        ranked = sorted(
            fit, key=lambda one: (used.get(one.id, 0), random_bytes(8, seed, "questions", kind, one.id))
        )
        drawn[kind] = tuple(ranked[: options.n])
        used |= {one.id: used.get(one.id, 0) + 1 for one in drawn[kind]}
    if drawn and not fit:
        raise DataError(
            f"no passage has {options.words} words", path=corpus, mend="Ask about shorter ones: --words 10.",
        )  # fmt: skip
    return drawn


def forecast(
    head: Forecast, writer: Writer, kind: str, drawn: Sequence[Placed], done: Container[str]
) -> Iterator[Forecast]:
    """`head` for the writer and for the checker: two calls for each draft of a kind that is not `done` (by key), as if
    the first attempt were kept."""
    asked = [one for one in drawn if writer.key(kind, one) not in done]
    sent = (
        (writer.chat, [write_messages(kind, one, writer.options.into) for one in asked], _WRITTEN),
        (writer.checker, [check_messages("?" * 60, one) for one in asked], _CHECKED),
    )
    for chat, calls, written in sent:
        model: Any = chat.model
        price, out = getattr(model, "price", None), written * len(asked)
        read = sum(likely_tokens([message.content for message in call]) for call in calls)
        yield replace(
            head, system=chat.name, items=len(asked), texts=len(asked), tokens=read + out,
            requests=len(asked), usd=None if price is None else price.usd(read, out),
            seconds=remote_seconds(model, len(asked), read + out), assumed=True,
        )  # fmt: skip


def waiting(writer: Writer, drawn: Drawn, drafts: Container[str]) -> list[tuple[str, Placed]]:
    """Kinds and passages whose draft is not there."""
    return [
        (kind, one) for kind, some in drawn.items() for one in some if writer.key(kind, one) not in drafts
    ]


def decided(writer: Writer, drawn: Drawn, drafts: Mapping[str, Draft]) -> dict[str, list[Draft]]:
    """Kind -> the drafts of its passages that are decided, in the order of the draw."""
    return {
        kind: [drafts[key] for one in some if (key := writer.key(kind, one)) in drafts]
        for kind, some in drawn.items()
    }


def write(
    writer: Writer, drawn: Drawn, path: Path, drafts: dict[str, Draft], listener: Silent
) -> dict[tuple[str, str], str]:
    """Have every question written and checked that is not among `drafts`, which gain it and which the file `path` keeps
    the moment it is decided. Kind and passage -> why it has no draft: a call that failed, which the next attempt tries
    again. ModelError for a model that cannot be had, BudgetExceeded when the money ends."""
    asked = waiting(writer, drawn, drafts)
    listener.stage("writing questions", len(asked), "questions")
    return asyncio.run(_write(writer, asked, path, drafts, listener))


async def _write(
    writer: Writer,
    asked: Sequence[tuple[str, Placed]],
    path: Path,
    drafts: dict[str, Draft],
    listener: Silent,
) -> dict[tuple[str, str], str]:
    failed: dict[tuple[str, str], str] = {}
    jobs = (partial(writer.draft, kind, one) for kind, one in asked)
    with path.open("a", encoding="utf-8") as kept:
        async for position, found in all_of(jobs, progress=listener.advanced_by):
            kind, one = asked[position]
            if isinstance(found, Failure):
                failed[kind, one.id] = found.reason
                continue
            drafts[found.key] = found
            kept.write(to_json(found.as_dict()) + "\n")
            kept.flush()
    return failed


def near_repeats(texts: Sequence[str], threshold: float) -> list[int]:
    """The places of texts that are, or nearly are, an earlier one: equal but for case and spaces, or with a Jaccard
    index of their runs of 5 characters of `threshold` or more."""
    seen: dict[str, int] = {}
    found = set()
    for place, text in enumerate(texts):
        if seen.setdefault(" ".join(text.casefold().split()), place) != place:
            found.add(place)
    if len(texts) > 1 and threshold < 1:
        found |= {pair.second for pair in Sketches(texts, Nearness(threshold)).pairs()}
    return sorted(found)


def read_drafts(path: Path) -> dict[str, Draft]:
    """The drafts of a file by key. A last line that a kill cut off is passed over; DataError for any other that is
    none."""
    if not path.is_file():
        return {}
    found = {}
    content = read_bounded(path, WHOLE)
    lines = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = _draft(json.loads(line))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            if number == len(lines):
                path.write_bytes(content[: len(content) - len(line)])
                break
            raise DataError(
                "this line is no draft", path=path, line=number, found=str(error), mend="Remove the line."
            ) from error
        found[one.key] = one
    return found


def _draft(said: Mapping[str, Any]) -> Draft:
    return Draft(**{**said, "rejected": tuple(said["rejected"])})
