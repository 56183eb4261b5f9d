"""Having some of it judged a second time, to see whether the judge repeats itself."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.rag.golden.gathered import Gathered
from embassay.protocols.rag.golden.repeatability import FirstOrder, judge_again, repeated, spread
from embassay.protocols.rag.golden.summary import Repeated
from embassay.protocols.rag.golden.work import Work
from embassay.protocols.rag.judges import Passage, Question
from embassay.systems.remote.home import wait_for

PER_ORDER = 5
"""One listwise call is repeated for so many grades."""


def repeat(work: Work, queries: Sequence[Gathered], items: int) -> Repeated:
    """Have `items` passages graded and a fifth as many lists ordered once more. BudgetExceeded and ModelError as in the
    stages; what is bought is in the answer cache."""
    if not getattr(work.judge, "repeats", True):
        return Repeated(reason="this judge has one answer to everything")
    done = {one.state.id: one for one in queries if one.is_done}
    first = {
        (key, row["doc_id"]): row["grade"]
        for key, one in done.items()
        for row in one.rows
        if row["grade"] is not None
    }
    chosen = set(spread(list(first), items, work.request.seed))
    pairs = [
        (_question(work, one), Passage(row["doc_id"], row["text"]))
        for key, one in done.items()
        for row in one.rows
        if (key, row["doc_id"]) in chosen
    ]
    orders = _orders(work, done, max(1, items // PER_ORDER))
    work.listener.stage(f"judged again by {work.judge.name}", len(pairs) + len(orders), "items")
    with work.charged("repeat", work.judge.name):
        second = wait_for(lambda: judge_again(work.judge, pairs, orders, progress=work.listener.advanced_by))
    return repeated(
        {key: first[key] for key in first if key in chosen}, orders, second, seed=work.request.seed
    )


def _orders(work: Work, done: dict[str, Gathered], n: int) -> list[FirstOrder]:
    """Some of the lists that were ordered, of as many questions as there are."""
    keys = [(key, str(number)) for key, one in done.items() for number in range(len(one.calls))]
    found = []
    for key, number in spread(keys, n, work.request.seed):
        one = done[key]
        texts = {row["doc_id"]: row["text"] for row in one.rows}
        call = one.calls[int(number)]
        shown = tuple(Passage(doc, texts[doc]) for doc in call["shown"])
        order = tuple(call["shown"].index(doc) for doc in call["order"])
        found.append(FirstOrder(_question(work, one), shown, order))
    return found


def _question(work: Work, one: Gathered) -> Question:
    original = work.request.options.judge_question == "original"
    return Question(one.state.id, one.state.text if original else one.rewrite)
