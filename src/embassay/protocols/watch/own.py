"""Own texts and questions of a fingerprint: what is read, what is drawn, and the lists that a system makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.data import draw, open_dataset
from embassay.data.judged_runs import read_qrels
from embassay.data.sources import own_first
from embassay.errors import DataError
from embassay.limits import reading
from embassay.protocols.watch.answers import stage_of
from embassay.protocols.watch.distances import find_lost
from embassay.protocols.watch.fingerprint import DEPTH, CorpusFacts, OwnLists, Packed, WatchItem
from embassay.protocols.watch.options import OwnData
from embassay.protocols.watch.respondents import VectorRespondent
from embassay.randomness import generator
from embassay.search.exact import exact_search
from embassay.systems.cosine import scale_rows

POOL = 20
"""Passages of each question's list that are asked for again: those of the first ten, and who may take their place."""
OTHERS = 200
"""Passages that are in no pool and asked for again: how many of their like push into the lists."""
_BLOCK = 256
Gains = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class OwnTexts:
    """What was read: all passages that are searched, the questions that are asked, and gains of passages."""

    name: str
    ids: Sequence[str]
    texts: Sequence[str]
    query_ids: Sequence[str]
    queries: Sequence[str]
    gains: Gains
    passages: int
    questions: int

    def items(self, samples: int, seed: int) -> tuple[WatchItem, ...]:
        """The questions, and passages that are drawn."""
        rows = draw(self.ids, samples, seed)
        asked = (
            WatchItem(key, "question", text, role="query", own=True)
            for key, text in zip(self.query_ids, self.queries, strict=True)
        )
        return (
            *asked,
            *(WatchItem(self.ids[row], "passage", self.texts[row], own=True) for row in rows),
        )

    def only(self, rows: Sequence[int]) -> OwnTexts:
        """With these questions alone."""
        ids, texts = ([column[row] for row in rows] for column in (self.query_ids, self.queries))
        return replace(self, query_ids=ids, queries=texts)

    def facts(self) -> CorpusFacts:
        """How large it is, and how long its passages are."""
        words = [len(text.split()) for text in self.texts]
        spread = np.percentile(words, range(101), method="nearest").astype(int)
        return CorpusFacts(self.name, self.passages, len(self.texts), self.questions, tuple(map(int, spread)))


def read_own(asked: OwnData) -> OwnTexts | None:
    """The passages and questions that are named; None where none are. DataError for files that hold none."""
    if asked.corpus is None:
        return None
    dataset = open_dataset(own_first(asked.corpus))
    with reading(dataset.name):
        if asked.queries is None and not dataset.missing("retrieval"):
            data = dataset.load("retrieval").data
            corpus, queries, gains = data.corpus, data.queries, data.qrels
        else:
            corpus, queries, gains = dataset.load("documents").data, None, {}
    if asked.queries is not None:
        queries = open_dataset(own_first(asked.queries)).load("documents").data
        gains = {} if asked.qrels is None else _read_gains(Path(asked.qrels), queries.ids)
    # A relevant passage that is not searched would make every list look worse.
    judged = {doc for row in gains.values() for doc, gain in row.items() if gain > 0}
    rows = [
        row
        for row in _draw_passages(corpus.ids, asked.passages, judged, asked.seed)
        if corpus.texts[row].strip()
    ]
    chosen = [] if queries is None else draw(queries.ids, asked.questions, asked.seed)
    return OwnTexts(
        dataset.name,
        [corpus.ids[row] for row in rows],
        [corpus.texts[row] for row in rows],
        [queries.ids[row] for row in chosen] if queries is not None else [],
        [queries.texts[row] for row in chosen] if queries is not None else [],
        gains, len(corpus.ids), 0 if queries is None else len(queries.ids),
    )  # fmt: skip


def _draw_passages(ids: Sequence[str], most: int, judged: set[str], seed: int) -> list[int]:
    """All that are judged, then others at random up to so many."""
    if len(ids) <= most:
        return list(range(len(ids)))
    first = [row for row, key in enumerate(ids) if key in judged]
    rest = [row for row, key in enumerate(ids) if key not in judged]
    more = draw([ids[row] for row in rest], max(0, most - len(first)), seed)
    return sorted([*first, *(rest[row] for row in more)])


def _read_gains(path: Path, queries: Sequence[str]) -> Gains:
    gains: dict[str, dict[str, float]] = {}
    for query, doc, value in read_qrels(path).frame.select("query", "doc", "value").iter_rows():
        gains.setdefault(query, {})[doc] = max(0.0, float(value))
    if not gains.keys() & set(queries):
        raise DataError(
            "No judgement is of a question in --queries", path=path, expected=f"ids such as {queries[0]!r}",
            found=repr(min(gains, default="")), mend="query_id of the judgements must be the id of a question."
        )  # fmt: skip
    return gains


def make_lists(
    own: OwnTexts,
    respondent: VectorRespondent,
    questions: NDArray[np.float32],
    rows: Sequence[int],
    seed: int,
) -> OwnLists:
    """The top lists of the questions, whose vectors (q, dim) are `rows` of a fingerprint, among all passages, and which
    of these to ask for again."""
    vectors = _encode_passages(own.texts, respondent, seed)
    told = np.flatnonzero(~find_lost(vectors))
    # Lists are of cosines, as a search of normalised vectors has them.
    units = scale_rows(vectors[told])
    ranked = exact_search(scale_rows(questions), units, min(POOL, len(told)))
    first = np.append(told, -1)[ranked.indices]
    place_of = {key: row for row, key in enumerate(own.ids)}
    relevant = [
        (question, place_of[doc], gain)
        for question, key in enumerate(own.query_ids)
        for doc, gain in own.gains.get(key, {}).items()
        if gain > 0 and doc in place_of and not np.isnan(vectors[place_of[doc], 0])
    ]
    pool = sorted({*first[first >= 0].tolist(), *(row for _, row, _ in relevant)})
    rest = np.setdiff1d(told, pool)
    drawn = np.sort(generator(seed, "watch", "others").permutation(rest)[:OTHERS])
    at = {row: place for place, row in enumerate(pool)}
    lists = np.full((len(rows), DEPTH), -1, dtype=np.int32)
    depth = min(DEPTH, first.shape[1])
    lists[:, :depth] = [[at[row] for row in line] for line in first[:, :depth].tolist()]
    scores = np.full((len(rows), DEPTH + 1), np.nan, dtype=np.float32)
    scores[:, : min(DEPTH + 1, first.shape[1])] = ranked.scores[:, : DEPTH + 1]
    return OwnLists(
        tuple(own.texts[row] for row in pool), Packed.of(vectors[pool], "f2"),
        tuple(own.texts[row] for row in drawn), Packed.of(vectors[drawn], "f2"), len(rest) - len(drawn), tuple(rows),
        Packed.of(lists, "i4"), Packed.of(scores),
        tuple((question, at[row], float(gain)) for question, row, gain in relevant), _best_gains(own)
    )  # fmt: skip


def _best_gains(own: OwnTexts) -> tuple[tuple[float, ...], ...]:
    gains = ([gain for gain in own.gains.get(key, {}).values() if gain > 0] for key in own.query_ids)
    return tuple(tuple(map(float, sorted(row, reverse=True)[:DEPTH])) for row in gains)


def _encode_passages(texts: Sequence[str], respondent: VectorRespondent, seed: int) -> NDArray[np.float32]:
    """Vectors of all passages as documents, (n, dim), NaN where one is refused."""
    rng = generator(seed, "watch", "passages")
    blocks = []
    with stage_of(respondent, "passages"):
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            blocks.append(respondent.encode(block, ["document"] * len(block), rng).values)
    return np.concatenate(blocks)
