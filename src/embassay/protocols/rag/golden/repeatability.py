"""Whether the judge repeats itself: the same passages graded, and the same lists ordered, by the same judge again.

What it says is drawn anew, with nothing else changed. Intervals resample questions, since passages of one
question are judged alike; all figures of grades follow from tables of first against second grade, so one resampling
serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from embassay.measures.grades import GRADES
from embassay.protocols.rag.golden.conclusions import Gathered
from embassay.protocols.rag.golden.corpus import Work
from embassay.protocols.rag.golden.grades import Key, Pair, grade_all
from embassay.protocols.rag.golden.summary import Figure, Repeated
from embassay.protocols.rag.judges import Judge, Passage, Question
from embassay.randomness import generator
from embassay.runs.execution import Failure, all_of
from embassay.stats.resampling import percentile_interval, resample_means
from embassay.systems.remote.calls import wait_for

AGAIN, ORDER_AGAIN = 1, 1_000
"""The draws of the second judgement; a ranking may have used the first thousand for orders itself."""
RESAMPLES = 2_000

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class FirstOrder:
    """A list that was ordered once: the passages as they were shown, and their positions best first."""

    question: Question
    passages: tuple[Passage, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Second:
    """What the second time brought: grades by question and passage, orders (None where there was no answer), and how
    many of both kinds there was no answer for."""

    grades: Mapping[Key, int]
    orders: Sequence[tuple[int, ...] | None]
    failed: int


def spread(keys: Sequence[Key], n: int, seed: int) -> list[Key]:
    """`n` of the keys, as many of each question as there are to spare, which ones by chance; in their given order."""
    by_query: dict[str, list[Key]] = {}
    for key in dict.fromkeys(keys):
        by_query.setdefault(key[0], []).append(key)
    turns: list[tuple[int, str, Key]] = []
    for query, own in by_query.items():
        drawn = generator(seed, "repeat", query).permutation(len(own))
        turns += [(turn, query, own[place]) for turn, place in enumerate(drawn.tolist())]
    names = list(by_query)
    lots = dict(zip(names, generator(seed, "repeat questions").permutation(len(names)).tolist(), strict=True))
    turns.sort(key=lambda turn: (turn[0], lots[turn[1]]))
    chosen = {key for _, _, key in turns[:n]}
    return [key for key in dict.fromkeys(keys) if key in chosen]


async def judge_again(
    judge: Judge,
    graded: Sequence[Pair],
    ordered: Sequence[FirstOrder],
    *,
    at_once: int = 256,
    progress: Callable[[int], None] | None = None,
) -> Second:
    """Have the same judged once more; a judge that cannot be had is raised, a single failure counted."""
    graded_again = await grade_all(
        judge, graded, {}, lambda *_: None, draw=AGAIN, at_once=at_once, progress=progress
    )
    orders: list[tuple[int, ...] | None] = [None] * len(ordered)
    jobs = (partial(judge.order, one.question, one.passages, draw=ORDER_AGAIN) for one in ordered)
    async for position, outcome in all_of(jobs, at_once=at_once, progress=progress):
        orders[position] = None if isinstance(outcome, Failure) else outcome.order
    grades = {key: verdict.grade for key, verdict in graded_again.verdicts.items()}
    return Second(grades, orders, len(graded_again.ungraded) + orders.count(None))


def repeated(
    first: Mapping[Key, int], ordered: Sequence[FirstOrder], second: Second, *, seed: int = 1337
) -> Repeated:
    """How far the second judgements are the first ones."""
    keys = [key for key in first if key in second.grades]
    pairs = [(one, order) for one, order in zip(ordered, second.orders, strict=True) if order is not None]
    if not keys and not pairs:
        return Repeated(failed=second.failed, reason="no item was judged twice")
    queries = sorted({key[0] for key in keys})
    tables = [
        grade_table([(first[key], second.grades[key]) for key in keys if key[0] == query])
        for query in queries
    ]
    agreement = grade_agreement(np.array(tables), seed=seed) if keys else {}
    return Repeated(
        items=len(keys),
        queries=len({key[0] for key in keys} | {one.question.id for one, _ in pairs}),
        table=tuple(tuple(map(int, row)) for row in np.sum(tables, axis=0)) if keys else (),
        calls=len(pairs),
        discordant=discordance(pairs, seed=seed) if pairs else None,
        failed=second.failed,
        exact=agreement.get("exact"),
        within_one=agreement.get("within_one"),
        kappa=agreement.get("kappa"),
        shift=agreement.get("shift"),
    )


def grade_table(pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """How often grade i + 1 was followed by j + 1, (5, 5)."""
    table = np.zeros((len(GRADES), len(GRADES)), dtype=np.int64)
    for one, other in pairs:
        table[one - 1, other - 1] += 1
    return table


def grade_agreement(tables: NDArray[np.int64], *, seed: int = 1337) -> dict[str, Figure]:
    """The agreement figures of one table per question, (q, 5, 5), with intervals over questions; with one question,
    over its passages."""
    n = int(tables.sum())
    flat = tables.reshape(len(tables), -1).astype(np.float64)
    if len(flat) == 1:
        flat = np.repeat(np.eye(flat.shape[1]), tables.reshape(-1), axis=0)
    replicates = _resampled(flat, seed, "grades")
    whole = flat.sum(axis=0)
    return {name: _figure(statistic, whole, replicates, n) for name, statistic in _OF_GRADES.items()}


def discordance(pairs: Sequence[tuple[FirstOrder, tuple[int, ...]]], *, seed: int = 1337) -> Figure:
    """The share of pairs of passages that the second order of a list puts the other way, over all lists."""
    by_query: dict[str, list[tuple[int, int]]] = {}
    for one, again in pairs:
        by_query.setdefault(one.question.id, []).append(swapped(one.order, again))
    rows = [np.sum(own, axis=0) for own in by_query.values()]
    if len(rows) == 1:
        rows = [np.array(own) for own in next(iter(by_query.values()))]
    counts = np.array(rows, dtype=np.float64)
    replicates = _resampled(counts, seed, "orders")
    return _figure(_ratio, counts.sum(axis=0), replicates, len(pairs))


def swapped(one: Sequence[int], other: Sequence[int]) -> tuple[int, int]:
    """Pairs that two orders of the same things put the other way, and all pairs.

    >>> swapped((0, 1, 2), (1, 0, 2))
    (1, 3)
    """
    place = {item: at for at, item in enumerate(other)}
    pairs = list(combinations(one, 2))
    return sum(place[a] > place[b] for a, b in pairs), len(pairs)


def weighted_kappa(table: Floats) -> Floats:
    """Cohen's kappa of tables of first against second rating (..., k, k), disagreements weighing the square of their
    distance (Cohen 1968): 1 is full agreement, 0 that of chance. NaN where all ratings are one and the same.

    >>> float(weighted_kappa(np.array([[2.0, 0.0], [0.0, 2.0]])))
    1.0
    """
    k = table.shape[-1]
    weights = (np.arange(k)[:, None] - np.arange(k)) ** 2
    n = table.sum(axis=(-2, -1))
    expected = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            1 - n * (weights * table).sum(axis=(-2, -1)) / (weights * expected).sum(axis=(-2, -1))
        )


def _square(counts: Floats) -> Floats:
    return counts.reshape(*counts.shape[:-1], len(GRADES), len(GRADES))


def _near(distance: int) -> Statistic:
    grades = np.arange(len(GRADES))
    apart = (np.abs(grades[:, None] - grades) > distance).astype(np.float64).ravel()
    # The share of the others taken from 1: where there are none, resampled means give 1 and not a little more.
    return lambda counts: np.asarray(1 - counts @ apart / counts.sum(axis=-1))


def _shift(counts: Floats) -> Floats:
    grades = np.arange(len(GRADES), dtype=np.float64)
    return np.asarray(counts @ (grades - grades[:, None]).ravel() / counts.sum(axis=-1))


def _ratio(counts: Floats) -> Floats:
    return np.asarray(counts[..., 0] / counts[..., 1])


_OF_GRADES: Mapping[str, Statistic] = {
    "exact": _near(0),
    "within_one": _near(1),
    "kappa": lambda counts: weighted_kappa(_square(counts)),
    "shift": _shift,
}


def _resampled(rows: Floats, seed: int, name: str) -> Floats | None:
    if len(rows) < 2:
        return None
    return resample_means(rows, n_resamples=RESAMPLES, rng=generator(seed, "repeatability", name))


def _figure(statistic: Statistic, whole: Floats, replicates: Floats | None, n: int) -> Figure:
    value = float(statistic(whole))
    if np.isnan(value):
        return Figure(None, n=n, reason="all judgements are one and the same")
    low, high = (np.nan, np.nan) if replicates is None else percentile_interval(statistic(replicates))
    known = not np.isnan(low)
    return Figure(value, low if known else None, high if known else None, n)


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
