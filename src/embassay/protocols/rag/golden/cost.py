"""What a golden set will take, stage by stage, before anything is sent: calls of the judge, tokens, money, time, disk.

How many passages the two searches share, and how many the judge grades high, nobody knows before: where a stage is not
done, the most that it can come to is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import mean
from typing import Any

from embassay.contracts import Message
from embassay.protocols.kernel.forecast import Forecaster
from embassay.protocols.kernel.forecast import Work as Effort
from embassay.protocols.kernel.plan import PlannedSystem
from embassay.protocols.kernel.session import unknown_price
from embassay.protocols.rag.golden.corpus import Work, searching
from embassay.protocols.rag.golden.stages import State, states_of
from embassay.protocols.rag.judges import Passage, Question
from embassay.protocols.rag.judges.chat import grade_messages, order_messages
from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds, served
from embassay.systems.remote.ledger import Price, likely_tokens

ANSWER_TOKENS = {"grade": 12, "order": 25, "rewrite": 40}
"""Of answers in JSON; a model that thinks writes more."""
_SAMPLE = 50
_BATCH = 5
_ROW_BYTES = 1_200
"""Of an artefact's row besides its text."""


@dataclass(frozen=True)
class Sizes:
    """Passages of a query: in its pool, and left to order."""

    pool: int
    kept: int


def forecast(work: Work) -> Forecasts:
    """The cost of what is not done yet, a cell per stage and system."""
    systems = planned_systems(work)
    states = states_of(work.queries, {})
    sizes = {state.id: _sizes(work, state) for state in states}
    return Forecasts((*_embedding(work, systems[0], states), *_judging(work, states, sizes)))


def _embedding(work: Work, encoder: PlannedSystem, states: Sequence[State]) -> list[Forecast]:
    """S1 and S2: the texts that the encoder has not seen."""
    found = [_rewriting(work, states)] if hasattr(work.rewriter, "model") else []
    made = Forecaster([encoder], work.tokenizer, work.request.seed, None, measure=True)
    questions, passages = [one.text for one in work.read.questions], list(work.passages.texts)
    tasks = (("S1 vectors", questions, "query", "S1"), ("S2 vectors", passages, "document", "S2"))
    for task, texts, role, stage in tasks:
        if all(state.is_through(stage) for state in states):
            found.append(Forecast(task, work.read.name, encoder.name, len(texts), 0, 0))
            continue

        def rehearse(hear: Any, texts: list[str] = texts, role: str = role) -> bool:
            hear(texts, role)
            return True

        held = partial(searching, passages=passages, queries=questions, depth=work.request.options.depth)
        found += made.cells(
            Effort(
                task,
                work.read.name,
                len(texts),
                len(texts),
                0,
                rehearse,
                texts,
                footprint=held if stage == "S2" else None,
            )
        )
    return found


def _rewriting(work: Work, states: Sequence[State]) -> Forecast:
    waiting = {state.id for state in states if not state.is_through("S1")}
    asked = [one for one in work.read.questions if one.rewrite is None and one.id in waiting]
    from embassay.protocols.rag.rewriters.llm import rewrite_messages

    read = sum(_tokens(rewrite_messages(one.text)) for one in asked)
    head = Forecast("S1 rewrite", work.read.name, work.rewriter.name, len(work.queries), 0, 0)
    return _asked(head, work.rewriter, len(asked), read, "rewrite")


def _judging(work: Work, states: Sequence[State], sizes: dict[str, Sizes]) -> list[Forecast]:
    """S4, S6 and the repeats: calls of the judge, at the mean length of some passages."""
    questions = [Question(one.id, one.text) for one in work.read.questions]
    texts = work.passages.texts[:: max(1, len(work.passages) // _SAMPLE)][:_SAMPLE]
    some = [Passage(str(number), text) for number, text in enumerate(texts)]
    pairs = [(questions[i % len(questions)], one) for i, one in enumerate(some)]
    per_grade = mean(_tokens(grade_messages(*pair)) for pair in pairs)
    batch = work.request.options.batch or _BATCH
    length = mean(likely_tokens([one.text]) for one in some)
    alone = mean(_tokens(order_messages(question, [])) for question in questions[:_SAMPLE])
    grades = sum(sizes[one.id].pool for one in states if not one.is_through("S4"))
    kept = [sizes[one.id].kept for one in states if not one.is_through("S6")]
    orders = sum(calls_for(work.request.engine, one) for one in kept)
    shown = max(kept, default=0) if work.request.engine.startswith("single_shot") else batch
    per_order = alone + shown * length
    head = Forecast("", work.read.name, work.judge.name, len(states), 0, 0)
    disk = sum(one.pool for one in sizes.values()) * 6 * int(_ROW_BYTES + mean(map(len, texts)))
    found = [
        replace(
            _asked(replace(head, task="S4 grade"), work.judge, grades, round(grades * per_grade), "grade"),
            disk_bytes=disk,
        ),
        _asked(replace(head, task="S6 order"), work.judge, orders, round(orders * per_order), "order"),
    ]
    if items := work.request.options.repeat:
        more = replace(head, task="repeat")
        both = items * per_grade + max(1, items // 5) * per_order
        found.append(_asked(more, work.judge, items + max(1, items // 5), round(both), "grade"))
    return found


def calls_for(engine: str, pool: int) -> int:
    """The calls that an engine makes for a pool, by what the registry says of it; one per candidate where it is silent.

    >>> calls_for("bayes", 40), calls_for("locks", 40), calls_for("grades", 40), calls_for("single_shot", 40)
    (48, 140, 0, 1)
    """
    said = dict(ENGINES.get(ENGINES.parse(engine).name).facts).get("calls", "1 per candidate")
    number = float((re.search(r"[0-9.]*[0-9]", said) or ["1"])[0])
    return round(number * pool) if "per candidate" in said else round(number)


def _sizes(work: Work, state: State) -> Sizes:
    """What is known of a query's passages, else the most there can be."""
    options = work.request.options
    pool = state.counts.get("candidates", min(2 * options.depth, len(work.passages)))
    return Sizes(pool, state.counts.get("kept", pool))


def _asked(head: Forecast, asker: Any, requests: int, read: int, kind: str) -> Forecast:
    """`head` with so many calls that read so many tokens; calls of what is no model cost nothing."""
    model = getattr(asker, "model", None)
    if model is None:
        return replace(head, texts=requests)
    written = ANSWER_TOKENS[kind] * requests
    price = getattr(model, "price", None)
    return replace(
        head,
        texts=requests,
        tokens=read + written,
        requests=requests,
        usd=None if price is None else price.usd(read, written),
        seconds=remote_seconds(model, requests, read + written),
        assumed=True,
    )


def _tokens(messages: Sequence[Message]) -> int:
    return likely_tokens([message.content for message in messages])


def planned_systems(work: Work) -> tuple[PlannedSystem, ...]:
    """The systems of a run, opened. UsageError for a spec that is none, and for a model whose price is not known where
    the cost is limited; ModelError for one that cannot be had."""
    encoder = work.encoder
    with work.charged("S1", encoder.name):
        facts = encoder.about
    remote = served(encoder.system)
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    found = [PlannedSystem(work.request.encoder, encoder.name, encoder.identity, "embedding", facts, remote)]
    found.append(_model(work, work.request.judge, work.judge, "judges: grades and orders passages"))
    if hasattr(work.rewriter, "model"):
        found.append(_model(work, work.request.rewriter, work.rewriter, "rewrites questions for the search"))
    return tuple(found)


def _model(work: Work, spec: str, model: Any, role: str) -> PlannedSystem:
    asked = getattr(model, "model", None)
    price = getattr(asked, "price", None)
    if asked is not None and price is None and work.ledger.max_usd is not None:
        raise unknown_price(model.name)
    told: Mapping[str, Any] = getattr(model, "about", dict)()
    facts: dict[str, Any] = {"summary": role, "about": dict(told)}
    if isinstance(price, Price):
        facts["usd_per_million_input"] = price.usd_per_million_input
        facts["usd_per_million_output"] = price.usd_per_million_output
    return PlannedSystem(spec, model.name, model.identity, "llm", facts)
