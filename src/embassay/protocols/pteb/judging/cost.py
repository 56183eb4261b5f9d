"""What ratings will take: the questions that the answer cache has no answer to, their tokens, money and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embassay.protocols.pteb.judging import work
from embassay.protocols.pteb.judging.chats import Judge
from embassay.protocols.pteb.judging.plan import Plan
from embassay.protocols.pteb.judging.rating import Asking, Pair
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.remote.tokens import likely_tokens

ANSWER_TOKENS = 10
"""Of `{"score": 3.5}`; a model that thinks writes more."""


@dataclass(frozen=True)
class Asked:
    """Questions to a model: `texts` (or pairs) in all, `requests` for those without a kept answer, and the tokens that
    these read and write."""

    texts: int
    requests: int
    read: int
    written: int


def forecast(plan: Plan) -> Forecasts:
    """The cost of every cell, in the order of the plan. A pair is asked for once, and failures come on top."""
    found = []
    for cell in plan.cells:
        pairs = work.pairs_of(work.load(cell.job.dataset, cell.job.limit, cell.job.seed).data)
        head = Forecast(cell.task, cell.dataset, cell.system, len(pairs), 0, 0)
        found.append(of_ratings(head, cell.job.by.judge, pairs, cell.job.asking, cell.job.by.cache))
    return Forecasts(tuple(found))


def of_ratings(
    head: Forecast, judge: Judge, pairs: Sequence[Pair], asking: Asking, cache: Path | None
) -> Forecast:
    """`head` with what the ratings of the distinct pairs take; `texts` counts pairs."""
    distinct = list(dict.fromkeys(pairs))
    with judge.with_kept_answers(None, cache) as chat:
        questions = [one for pair in distinct if not chat.kept(one := asking.question(pair))]
    read = sum(likely_tokens([message.content for message in one.messages]) for one in questions)
    asked = Asked(len(distinct), len(questions), read, ANSWER_TOKENS * len(questions))
    return of_questions(head, judge.open(), asked)


def of_questions(head: Forecast, chat: Any, asked: Asked) -> Forecast:
    """`head` with what the questions to a model come to, added."""
    price, tokens = getattr(chat, "price", None), asked.read + asked.written
    usd = None if price is None or head.usd is None else head.usd + price.usd(asked.read, asked.written)
    seconds = remote_seconds(chat, asked.requests, tokens)
    return replace(
        head,
        texts=head.texts + asked.texts,
        cached=head.cached + asked.texts - asked.requests,
        tokens=head.tokens + tokens,
        requests=(head.requests or 0) + asked.requests,
        usd=usd,
        seconds=(head.seconds or 0.0) + seconds,
        assumed=True,
    )
