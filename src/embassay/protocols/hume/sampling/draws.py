"""The draw of each family: pairs to rate, texts to label or to group, documents to judge, and items to practise on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import starmap
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.collection import round_rating_to_scale_step
from embassay.protocols.hume.sampling.options import TaskSampleRequest, make_label_choices_in_vote_order
from embassay.protocols.hume.sampling.pools import (
    SampledItem,
    SampledTask,
    TakenPoolPositions,
    draw_equally_per_label,
    draw_items_of_gold_clusters,
    draw_most_relevant_documents,
    draw_pairs_by_score_bin,
    find_contradicted_texts,
    find_positions_of_distinct_texts,
    join_pair_text,
    make_count_note,
    normalise_text_for_comparison,
    seeded_order,
)
from embassay.protocols.hume.study import Family, LabelChoice, PracticeItem, RatingScale
from embassay.records import Classification, LabelledTexts, RerankingSet, RetrievalSet, ScoredTextPairs
from embassay.search.bm25 import BM25Index, Hear
from embassay.search.fusion import Shingle, collect_word_shingles

NEAR = 0.8
"""From this share of common runs of words a document is a near copy of another one: it is not shown beside it."""
DEPTH = 100
"""Documents that BM25 finds for a query, among which hard negatives are looked for."""
HARD = 20
"""Among the harder half, at most so many, the negatives that are shown are drawn. The very hardest alone are an attack
on BM25, and hold most of the documents that are relevant though nobody judged them: on Cranfield every system that we
tried was hardly better than chance with them."""
PRACTISED = 4
"""Documents of a query to practise on."""
Negatives = Callable[["JudgedQuery"], Iterable[str]]
"""The ids of documents that are not relevant to a query, hardest first."""


@dataclass(frozen=True)
class JudgedQuery:
    """A query, the gain of its judged documents, and the text of all documents there are, by id."""

    id: str
    query: str
    gains: Mapping[str, float]
    texts: Mapping[str, str]


@dataclass(frozen=True)
class _CorpusTextsById(Mapping[str, str]):
    """The texts of a corpus by their ids: each is read when it is asked for."""

    index: BM25Index
    texts: Sequence[str]

    def __getitem__(self, key: str) -> str:
        try:
            return self.texts[self.index.place(key)]
        except UsageError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.index.ids)

    def __len__(self) -> int:
        return len(self.index.ids)


def make_judged_queries_from_lists(data: RerankingSet) -> tuple[list[JudgedQuery], Negatives]:
    """Queries whose candidates are given; hardest are those of the list that BM25 over it ranks first."""
    asked = []
    for place, key in enumerate(data.ids):
        ids = [f"{key}#{number}" for number in range(1, len(data.candidates[place]) + 1)]
        texts = dict(zip(ids, data.candidates[place], strict=True))
        gains = dict(zip(ids, map(float, data.relevance[place]), strict=True))
        asked.append(JudgedQuery(key, data.queries[place][0], gains, texts))
    return asked, _rank_irrelevant_texts_by_bm25


def make_judged_queries_from_corpus(
    data: RetrievalSet, hear: Hear | None = None
) -> tuple[list[JudgedQuery], Negatives]:
    """Queries over a corpus; hardest are the documents that BM25 finds first and nobody judged relevant. `hear` is told
    how far the index is."""
    index = BM25Index.of(data.corpus.ids, data.corpus.texts, asked=data.queries.texts, hear=hear)
    texts = _CorpusTextsById(index, data.corpus.texts)
    asked = [
        JudgedQuery(key, query, data.qrels[key], texts)
        for key, query in zip(data.queries.ids, data.queries.texts, strict=True)
    ]

    def find_hardest_negatives(query: JudgedQuery) -> Iterator[str]:
        # As many more as are judged, because the relevant ones among them fall out.
        return (
            hit.id
            for hit in index.search(query.query, DEPTH + len(query.gains))
            if not _is_document_relevant(query, hit.id)
        )

    return asked, find_hardest_negatives


def draw_reranking_items(
    asked: Sequence[JudgedQuery], negatives: Negatives, request: TaskSampleRequest, n: int, seed: int
) -> SampledTask:
    """`n` queries with `candidates` documents each, up to `relevant` of them relevant, in an order drawn per query; the
    others are drawn among the hardest negatives.

    Of more relevant documents those of the highest gain are shown, and the others not at all. Queries without enough
    documents are left out. Near copies of a document that is shown or relevant are not shown. Source: spec hume 2.1.
    """
    # Backwards, so that of queries that read the same the first stays.
    first = {normalise_text_for_comparison(query.query): query for query in reversed(asked)}
    pool = [query for query in asked if first[normalise_text_for_comparison(query.query)] is query]
    order = [pool[place] for place in seeded_order([query.id for query in pool], seed, "queries")]
    items: list[SampledItem] = []
    left = 0
    # One by one: which query has enough documents is known only when they were looked for.
    while order and len(items) < n:
        item = _make_reranking_item(order.pop(0), negatives, request.relevant, request.candidates, seed)
        left += item is None
        items += [item] if item else []
    notes = (
        *make_count_note(left, "query", f"skipped: fewer than {request.candidates} documents to show"),
        *make_count_note(len(asked) - len(pool), "repeated query", "left out"),
    )
    about = (_describe_relevant_counts(items),) if items else ()
    practice = _make_reranking_practice(order, negatives, request, seed)
    return SampledTask(tuple(items), practice, notes=notes, about_gold=about)


def draw_shown_documents(
    query: JudgedQuery, negatives: Iterable[str], relevant: int, total: int, seed: int
) -> tuple[str, ...] | None:
    """The documents of a query in the order they are shown, None where there are not `total` of them."""
    judged = [doc for doc, gain in query.gains.items() if gain > 0 and query.texts.get(doc, "").strip()]
    # All relevant ones in order, not `relevant` of them: near copies among the first would leave too few.
    best = draw_most_relevant_documents({key: query.gains[key] for key in judged}, len(judged), seed, query.id)
    chosen = _choose_distinct_documents(best, query.texts, [], relevant)
    if not chosen:
        return None
    # A near copy of a relevant document that is not shown would be marked relevant by people, and be wrong.
    beside = [collect_word_shingles(query.texts[document]) for document in judged]
    chosen += _choose_distinct_documents(negatives, query.texts, beside, total - len(chosen))
    order = seeded_order(chosen, seed, "shown", query.id)
    return tuple(chosen[place] for place in order) if len(chosen) == total else None


def _make_reranking_item(
    query: JudgedQuery, negatives: Negatives, relevant: int, total: int, seed: int
) -> SampledItem | None:
    documents = draw_shown_documents(
        query, _mix_hard_and_easier_negatives(list(negatives(query)), query.id, total, seed), relevant, total, seed
    )
    if documents is None:
        return None
    payload = {
        "query": query.query,
        "documents": [{"id": f"d{at}", "text": query.texts[key]} for at, key in enumerate(documents, 1)],
    }
    return SampledItem(payload, [int(_is_document_relevant(query, key)) for key in documents], query.id, documents)


def _make_reranking_practice(
    rest: Sequence[JudgedQuery], negatives: Negatives, request: TaskSampleRequest, seed: int
) -> tuple[PracticeItem, ...]:
    """Queries that were not drawn with four documents each, the shortest of a few; our own where there are too few."""
    some = (
        _make_reranking_item(query, negatives, min(request.relevant, 2), PRACTISED, seed)
        for query in rest[: 4 * request.practice]
    )
    shortest = sorted(filter(None, some), key=lambda item: sum(map(len, item.texts)))[: request.practice]
    if len(shortest) < request.practice:
        return tuple(builtin_practice_items("reranking")[: request.practice])
    return tuple(make_marks_practice_item(dict(item.payload), item.gold) for item in shortest)


def _mix_hard_and_easier_negatives(hardest: Sequence[str], query: str, total: int, seed: int) -> list[str]:
    """The hardest negatives in a drawn order, then the easier ones."""
    # At most half of a short list, so that the easy ones are not all drawn in as hard.
    size = min(HARD, max(total - 1, len(hardest) // 2))
    order = seeded_order(hardest[:size], seed, "negatives", query)
    return [hardest[place] for place in order] + list(hardest[size:])


def _rank_irrelevant_texts_by_bm25(query: JudgedQuery) -> list[str]:
    ids = [key for key in query.texts if not _is_document_relevant(query, key)]
    index = BM25Index.of(list(query.texts), list(query.texts.values()))
    scores = index.scores(query.query, ids)
    # Ties of BM25 by id, not by the order of the file.
    return [ids[place] for place in sorted(range(len(ids)), key=lambda place: (-scores[place], ids[place]))]


def _is_document_relevant(query: JudgedQuery, document: str) -> bool:
    return query.gains.get(document, 0) > 0


def _choose_distinct_documents(
    documents: Iterable[str], texts: Mapping[str, str], beside: list[frozenset[Shingle]], upto: int
) -> list[str]:
    """The first documents that are neither empty nor near copies of one before them or of those `beside`."""
    taken: list[str] = []
    for document in documents:
        if len(taken) == upto:
            break
        mine = collect_word_shingles(texts[document])
        if texts[document].strip() and all(len(mine & words) < NEAR * len(mine | words) for words in beside):
            taken.append(document)
            beside.append(mine)
    return taken


def _describe_relevant_counts(items: Sequence[SampledItem]) -> str:
    sizes = Counter(sum(item.gold) for item in items)
    words = ", ".join(f"{number} ({sizes[number]})" for number in sorted(sizes))
    return f"relevant documents per query (number of queries): {words}"


def draw_pairs_across_scores(
    pairs: ScoredTextPairs, scale: RatingScale, request: TaskSampleRequest, n: int, seed: int
) -> SampledTask:
    """`n` pairs, spread evenly over five bins of the gold score; each pair once, in either order of its texts, and
    texts in one pair only as far as there are enough."""
    joined = list(starmap(join_pair_text, zip(pairs.first, pairs.second, strict=True)))
    scores = [float(score) for score in pairs.scores]
    # By every digit: 3.0 and 3 are one score, 3.25 and 3.2 two.
    wrong = find_contradicted_texts(joined, [repr(score) for score in scores])
    pool = [
        place
        for place in find_positions_of_distinct_texts(joined)
        if normalise_text_for_comparison(joined[place]) not in wrong
    ]
    choice = draw_pairs_by_score_bin(
        [pairs.ids[place] for place in pool], [scores[place] for place in pool],
        [(normalise_text_for_comparison(pairs.first[place]),
            normalise_text_for_comparison(pairs.second[place])) for place in pool], n, seed
    )  # fmt: skip
    taken = [pool[place] for place in choice.positions]
    low, high = min(scores), max(scores)
    off = (low, high) != (scale.low, scale.high)
    notes = (
        *choice.notes,
        *make_count_note(len(wrong), "pair", "with several scores left out"),
        *make_count_note(
            len(joined) - len(set(map(normalise_text_for_comparison, joined))), "repeated pair", "left out"
        ),
        *((f"gold scores run from {low:g} to {high:g}, ratings from {scale.low:g} to {scale.high:g}",) if off else ()),
    )
    items = tuple(_make_sts_item(pairs, place, scores[place]) for place in taken)
    rest = [place for place in pool if place not in set(taken)]
    return SampledTask(items, _make_sts_practice(pairs, rest, scores, scale, request, seed), notes=notes)


def _make_sts_item(pairs: ScoredTextPairs, place: int, score: float) -> SampledItem:
    one, other = pairs.first[place], pairs.second[place]
    same = normalise_text_for_comparison(one) == normalise_text_for_comparison(other)
    return SampledItem({"text1": one, "text2": other}, score, pairs.ids[place], defects=("same_text",) if same else ())


def _shuffle_places(places: Sequence[int], ids: Sequence[str], seed: int, purpose: str) -> list[int]:
    """The places of rows in an order that is drawn by their ids."""
    return [places[at] for at in seeded_order([ids[place] for place in places], seed, purpose)]


def _make_sts_practice(
    pairs: ScoredTextPairs, rest: Sequence[int], scores: Sequence[float], scale: RatingScale,
    request: TaskSampleRequest, seed: int
) -> tuple[PracticeItem, ...]:  # fmt: skip
    """Pairs nearest to evenly spaced levels of the scale, one each, in a drawn order."""
    order = _shuffle_places(rest, pairs.ids, seed, "practice")
    short = order_short_texts_first(order, [one + other for one, other in zip(pairs.first, pairs.second, strict=True)])
    if len(short) < request.practice:
        return tuple(builtin_practice_items("sts"))[: request.practice]
    steps = max(request.practice - 1, 1)
    taken: list[int] = []
    for number in range(request.practice):
        level = round_rating_to_scale_step(scale.low + (scale.high - scale.low) * number / steps, scale)
        free = [place for place in short if place not in taken]
        taken.append(min(free, key=lambda place: abs(scores[place] - level)))
    mixed = _shuffle_places(taken, pairs.ids, seed, "practice order")
    return tuple(make_rating_practice_item(pairs.first[at], pairs.second[at], scores[at], scale) for at in mixed)


def draw_classification_texts(
    tested: LabelledTexts, trained: LabelledTexts | None, request: TaskSampleRequest, n: int, seed: int
) -> SampledTask:
    """`n` texts of `tested`, equal per label. A text that is there with several labels is left out; one that `trained`
    has with another label is kept and marked as ambiguous."""
    wrong = find_contradicted_texts(tested.texts, tested.labels)
    pool = [
        place
        for place in find_positions_of_distinct_texts(tested.texts)
        if normalise_text_for_comparison(tested.texts[place]) not in wrong
    ]
    choice = _draw_texts_equally_per_label(tested, pool, n, seed)
    taken = set(choice.positions)
    other = {} if trained is None else _labels_by_text(trained)
    items = tuple(_make_classification_item(tested, place, other) for place in choice.positions)
    labels = sorted({*tested.labels, *(trained.labels if trained else ())})
    rest = [place for place in pool if place not in taken]
    notes = (
        *choice.notes,
        *make_count_note(len(wrong), "text", "with several labels left out"),
        *make_count_note(
            len(tested) - len(set(map(normalise_text_for_comparison, tested.texts))), "repeated text", "left out"
        ),
        *(() if trained else ("no training rows, so models train on the rows that were not drawn",)),
    )
    shown = {item.text for item in items}
    practice = _make_classification_practice(trained or tested, None if trained else rest, shown, labels, request, seed)
    return SampledTask(items, practice, tuple(labels), notes, trained=trained.texts if trained else ())


def _draw_texts_equally_per_label(tested: LabelledTexts, pool: list[int], n: int, seed: int) -> TakenPoolPositions:
    choice = draw_equally_per_label(
        [tested.ids[place] for place in pool], [tested.labels[place] for place in pool], n, seed
    )
    return TakenPoolPositions(tuple(pool[place] for place in choice.positions), choice.notes)


def _make_classification_item(tested: LabelledTexts, place: int, other: dict[str, set[str]]) -> SampledItem:
    text, label = tested.texts[place], tested.labels[place]
    ambiguous = bool(other.get(normalise_text_for_comparison(text), set()) - {label})
    return SampledItem({"text": text}, label, tested.ids[place], defects=("ambiguous_label",) if ambiguous else ())


def _labels_by_text(texts: LabelledTexts) -> dict[str, set[str]]:
    """Text, as compared -> the labels it has."""
    labels: dict[str, set[str]] = {}
    for text, label in zip(texts.texts, texts.labels, strict=True):
        labels.setdefault(normalise_text_for_comparison(text), set()).add(label)
    return labels


def _make_classification_practice(
    source: LabelledTexts, places: list[int] | None, shown: set[str], labels: list[str],
    request: TaskSampleRequest, seed: int
) -> tuple[PracticeItem, ...]:  # fmt: skip
    """One text each of some labels, from rows that are no items."""
    seen = {normalise_text_for_comparison(text) for text in shown}
    rows = range(len(source)) if places is None else places
    free = [place for place in rows if normalise_text_for_comparison(source.texts[place]) not in seen]
    order = _shuffle_places(free, source.ids, seed, "practice")
    first: dict[str, int] = {}
    for place in order_short_texts_first(order, source.texts):
        first.setdefault(source.labels[place], place)
    choices = {str(choice.value): choice for choice in make_label_choices_in_vote_order(labels, request.labels)}
    drawn = [sorted(first)[place] for place in seeded_order(sorted(first), seed, "practice labels")]
    return tuple(
        make_label_practice_item(source.texts[first[label]], choices[label]) for label in drawn[: request.practice]
    )


WHOLE = "the whole set, as it was annotated"


def take_all_items(data: Any, n: int | None) -> SampledTask:
    """Every item of an annotated set as it is, in the order of the data, the first `n` for a trial: repeated texts,
    contradictions and documents that are alike stay, since people and models were scored on them. Practice is ours.

    `data` are in one of the family's shapes; a query has its candidates in the order of the data.
    """
    if isinstance(data, ScoredTextPairs):
        taken = [_make_sts_item(data, place, float(data.scores[place])) for place in range(len(data))]
        return SampledTask(tuple(taken[:n]), tuple(builtin_practice_items("sts")), notes=(WHOLE,))
    if isinstance(data, RerankingSet):
        taken = [_make_item_from_candidates(data, place) for place in range(len(data.ids))]
        about = (_describe_relevant_counts(taken),) if taken else ()
        return SampledTask(
            tuple(taken[:n]), tuple(builtin_practice_items("reranking")), notes=(WHOLE,), about_gold=about
        )
    test, train = (data.test, data.train) if isinstance(data, Classification) else (data, None)
    other = {} if train is None else _labels_by_text(train)
    taken = [_make_classification_item(test, place, other) for place in range(len(test))]
    labels = tuple(sorted({*test.labels, *(train.labels if train else ())}))
    return SampledTask(tuple(taken[:n]), (), labels, (WHOLE,), trained=train.texts if train else ())


def _make_item_from_candidates(data: RerankingSet, place: int) -> SampledItem:
    key, texts = data.ids[place], data.candidates[place]
    documents = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts, 1)]
    gold = [int(gain > 0) for gain in data.relevance[place]]
    ids = tuple(f"{key}#{number}" for number in range(1, len(texts) + 1))
    return SampledItem({"query": data.queries[place][0], "documents": documents}, gold, key, ids)


EACH = 3
"""Texts of each cluster to practise on."""


def draw_clustering_texts(texts: LabelledTexts, request: TaskSampleRequest, n: int, seed: int) -> SampledTask:
    """`n` texts of 6 or 5 gold clusters, or of as many as are asked for. Texts of several clusters are left out."""
    wrong = find_contradicted_texts(texts.texts, texts.labels)
    pool = [
        place
        for place in find_positions_of_distinct_texts(texts.texts)
        if normalise_text_for_comparison(texts.texts[place]) not in wrong
    ]
    labels = [texts.labels[place] for place in pool]
    choice = draw_items_of_gold_clusters([texts.ids[place] for place in pool], labels, n, seed, request.groups)
    taken = [pool[place] for place in choice.positions]
    drawn = {texts.labels[place] for place in taken}
    spare = [place for place in pool if texts.labels[place] not in drawn]
    notes = (
        *choice.notes,
        *make_count_note(len(wrong), "text", "in several clusters left out"),
        *make_count_note(
            len(texts) - len(set(map(normalise_text_for_comparison, texts.texts))), "repeated text", "left out"
        ),
    )
    items = tuple(SampledItem({"text": texts.texts[at]}, texts.labels[at], texts.ids[at]) for at in taken)
    about = (f"{len(drawn)} of {len(set(texts.labels))} gold clusters",)
    return SampledTask(
        items, _make_clustering_practice(texts, spare, request, seed), tuple(sorted(drawn)), notes, about
    )


def _make_clustering_practice(
    texts: LabelledTexts, spare: Sequence[int], request: TaskSampleRequest, seed: int
) -> tuple[PracticeItem, ...]:
    """One exercise with texts of two clusters that are not in the study, which would tell how broad its topics are; our
    own where there are no two."""
    members: dict[str, list[int]] = {}
    order = _shuffle_places(spare, texts.ids, seed, "practice")
    for place in order_short_texts_first(order, texts.texts):
        members.setdefault(texts.labels[place], []).append(place)
    full = sorted(label for label, held in members.items() if len(held) >= EACH)
    if not request.practice:
        return ()
    if len(full) < 2:
        return tuple(builtin_practice_items("clustering"))
    pair = [full[place] for place in seeded_order(full, seed, "practice clusters")[:2]]
    shown = [place for label in pair for place in members[label][:EACH]]
    mixed = _shuffle_places(shown, texts.ids, seed, "practice order")
    return (
        make_groups_practice_item([texts.texts[place] for place in mixed], [texts.labels[place] for place in mixed]),
    )


SHORT = 400
"""Characters up to which a text is preferred for practice: it is to show the page, not to take time."""


def order_short_texts_first(places: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Places of short texts before long ones, else in their order."""
    return sorted(places, key=lambda place: len(texts[place]) > SHORT)


def make_label_practice_item(text: str, label: LabelChoice) -> PracticeItem:
    """Make a practice item: a text whose label is told."""
    means = f" {label.description}" if label.description else ""
    return PracticeItem(
        payload={"text": text}, answer=label.value, explanation=f"In the data, the label is {label.name}.{means}"
    )


def make_rating_practice_item(one: str, other: str, score: float, scale: RatingScale) -> PracticeItem:
    """Make a practice item: a pair whose rating is told."""
    answer = round_rating_to_scale_step(score, scale)
    words = scale.anchors.get(f"{answer:g}") or scale.anchors.get(f"{int(answer + 0.5)}", "")
    near = "" if answer == score else f", which is nearest to {answer:g}"
    return PracticeItem(
        payload={"text1": one, "text2": other}, answer=answer,
        explanation=f"In the data, the rating is {score:g}{near}. {words}".strip()
    )  # fmt: skip


def make_marks_practice_item(payload: dict[str, Any], marks: Sequence[int]) -> PracticeItem:
    """Make a practice item: a query whose relevant documents are told."""
    places = [str(place) for place, mark in enumerate(marks, 1) if mark]
    which = f"document {places[0]} is" if len(places) == 1 else f"documents {' and '.join(places)} are"
    return PracticeItem(
        payload=payload, answer=list(marks),
        explanation=f"In the data, {which} relevant. The others share words with the query but do not answer it."
    )  # fmt: skip


def make_groups_practice_item(texts: Sequence[str], groups: Sequence[str]) -> PracticeItem:
    """Make a practice item: texts whose groups are told by number, not by their gold names."""
    numbers = {group: f"{place}" for place, group in enumerate(dict.fromkeys(groups), 1)}
    return PracticeItem(
        payload={"texts": list(texts)}, answer=[numbers[group] for group in groups],
        explanation=(f"In the data, these texts cover {len(numbers)} topics. Other groupings can also make sense: "
            "you decide how broad a topic is.")
    )  # fmt: skip


def builtin_practice_items(family: Family) -> list[PracticeItem]:
    """Our own practice items in English: none for a classification, whose labels are the data's."""
    from embassay.data.yaml import read_yaml

    path = files("embassay.protocols.hume.sampling") / "guidelines" / "practice.yaml"
    return [PracticeItem.model_validate(entry) for entry in read_yaml(path).get(family, ())]  # type: ignore[arg-type]
