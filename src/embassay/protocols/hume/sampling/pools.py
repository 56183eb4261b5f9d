"""Which items of a pool are taken, by family: positions drawn with a seed, and what was drawn before it has ids."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

from embassay.data import open_dataset
from embassay.data.dataset import Dataset
from embassay.data.rows import normalise_value_to_plain_text as cell_text
from embassay.data.views import FilteredRowsView
from embassay.errors import DataError, UsageError
from embassay.protocols.hume.published.paper import convert_to_iso_639_3
from embassay.protocols.hume.sampling.options import TaskSampleRequest
from embassay.protocols.hume.study import FAMILIES, Defect, Family, PracticeItem
from embassay.randomness import draw_random_bytes
from embassay.records import LoadedDataset

BINS = 5
"""Equal-width bins of a gold score that a sample of pairs is spread over (spec hume 2.1)."""
GROUPS = (6, 5)
"""How many gold clusters a sample has, the first that divides the number of items."""


@dataclass(frozen=True)
class TakenPoolPositions:
    """Positions of the pool that were taken, and what is to be said about them."""

    positions: tuple[int, ...]
    notes: tuple[str, ...] = ()


def seeded_order(ids: Sequence[str], seed: int, *names: str) -> list[int]:
    """Positions in an order that depends on the seed, the names and the ids alone, not on the order of the file.

    >>> seeded_order(["a", "b", "c"], 7, "x") == [2 - place for place in seeded_order(["c", "b", "a"], 7, "x")]
    True
    """
    # A hash of each id and not a shuffle, so that another item in the file moves no other's place.
    return sorted(range(len(ids)), key=lambda place: (draw_random_bytes(8, seed, *names, ids[place]), ids[place]))


def draw_equally_per_label(ids: Sequence[str], labels: Sequence[str], n: int, seed: int) -> TakenPoolPositions:
    """As many items of every label, at most `n` together; a label with fewer gives all it has, which is noted.

    With fewer places than labels, one item each of `n` labels drawn. Source: spec hume 2.1.
    """
    members = _group_positions_by_name(ids, labels, seed, "label")
    per_label = n // len(members)
    if not per_label:
        names = sorted(members)
        # Labels are drawn: the first by name would be the same ones in every study.
        drawn = sorted(names[place] for place in seeded_order(names, seed, "labels")[:n])
        note = f"{n} items cannot cover all {len(members)} labels, so one item was drawn for each of {n} labels"
        return TakenPoolPositions(tuple(members[label][0] for label in drawn), (note,))
    short = [f"{label} {len(held)}" for label, held in sorted(members.items()) if len(held) < per_label]
    chosen = tuple(place for label in sorted(members) for place in members[label][:per_label])
    why = f"{per_label} for each of {len(members)} labels"
    if short:
        why = f"labels with fewer than {per_label} items contribute all of them: {', '.join(short)}"
    return TakenPoolPositions(chosen, (f"{len(chosen)} items, not {n}: {why}",) if len(chosen) < n else ())


def draw_items_of_gold_clusters(
    ids: Sequence[str], labels: Sequence[str], n: int, seed: int, groups: int | None = None
) -> TakenPoolPositions:
    """As many items of each of `groups` gold clusters drawn, at most `n` together.

    Without `groups` 6 or 5 clusters, whichever divides `n` (spec hume 2.1), or all where there are fewer. Clusters
    with enough items go first. Raises DataError for fewer than two clusters or too few items for two of each.
    """
    members = _group_positions_by_name(ids, labels, seed, "cluster")
    wanted = min(groups or _choose_cluster_count(n, len(members)), len(members))
    if wanted < 2 or n < 2 * wanted or sum(len(held) > 1 for held in members.values()) < 2:
        raise DataError(
            f"{min(n, len(ids))} items in {len(members)} gold clusters are too few to group.",
            mend="Use data with at least two clusters of two items each.",
        )
    per_group = n // wanted
    names = sorted(members)
    order = [names[place] for place in seeded_order(names, seed, "clusters")]
    # A stable sort: clusters that are large enough stay in the drawn order.
    chosen = sorted(sorted(order, key=lambda name: -min(len(members[name]), per_group))[:wanted])
    short = sum(len(members[name]) < per_group for name in chosen)
    taken = tuple(place for name in chosen for place in members[name][:per_group])
    why = f"{per_group} for each of {wanted} clusters"
    if short:
        why = f"{why}, {short} of which have fewer"
    return TakenPoolPositions(taken, (f"{len(taken)} items, not {n}: {why}",) if len(taken) < n else ())


def draw_pairs_by_score_bin(
    ids: Sequence[str], scores: Sequence[float], texts: Sequence[Sequence[str]], n: int, seed: int
) -> TakenPoolPositions:
    """`n` pairs spread evenly over 5 equal-width bins of the gold score, between its lowest and its highest.

    What a bin lacks goes to the others. Pairs whose texts are in no other pair taken go first. Source: spec hume 2.1.
    """
    low, high = min(scores), max(scores)
    # Of one score only there is one bin, and nothing to divide by.
    width = (high - low) / BINS or 1.0
    bins: dict[int, list[int]] = {}
    for place in seeded_order(ids, seed, "pairs"):
        # The highest score closes the last bin.
        bins.setdefault(min(int((scores[place] - low) / width), BINS - 1), []).append(place)
    places = share_places_round_robin({number: len(held) for number, held in sorted(bins.items())}, n)
    used: set[str] = set()
    taken = [
        place
        for number, held in sorted(bins.items())
        for place in _take_pairs_with_fresh_texts(held, texts, places[number], used)
    ]
    even = n // BINS
    short = [str(number + 1) for number in range(BINS) if places.get(number, 0) < min(even, n)]
    notes = (
        (f"bins {', '.join(short)} of 5 have fewer than {even} pairs, so the others have more",)
        if short and len(taken) == n
        else ()
    )
    return TakenPoolPositions(tuple(taken), notes)


def share_places_round_robin(room: Mapping[int, int], n: int) -> dict[int, int]:
    """`n` places given one by one, round after round, to all that still have room.

    >>> share_places_round_robin({0: 10, 1: 1, 2: 10}, 7)
    {0: 3, 1: 1, 2: 3}
    """
    places = dict.fromkeys(room, 0)
    left = min(n, sum(room.values()))
    while left:
        for key in [key for key in places if places[key] < room[key]][:left]:
            places[key] += 1
            left -= 1
    return places


def draw_most_relevant_documents(gains: Mapping[str, float], upto: int, seed: int, query: str) -> tuple[str, ...]:
    """The `upto` documents of the highest gain above 0, ties drawn with the seed.

    >>> draw_most_relevant_documents({"a": 1, "b": 4, "c": 0, "d": 3}, 2, 1, "q")
    ('b', 'd')
    """
    relevant = [document for document, gain in gains.items() if gain > 0]
    order = [relevant[place] for place in seeded_order(relevant, seed, "relevant", query)]
    return tuple(sorted(order, key=lambda document: -gains[document])[:upto])


def _choose_cluster_count(n: int, clusters: int) -> int:
    fitting = [wanted for wanted in GROUPS if wanted <= clusters and n % wanted == 0]
    # A small sample, drawn to try things out, has fewer clusters rather than one item of each.
    return min(fitting[0] if fitting else GROUPS[0], n // 2)


def _group_positions_by_name(ids: Sequence[str], names: Sequence[str], seed: int, what: str) -> dict[str, list[int]]:
    """Name -> the positions of its items, in seeded order."""
    members: dict[str, list[int]] = {}
    for place in seeded_order(ids, seed, what):
        members.setdefault(names[place], []).append(place)
    return members


def _take_pairs_with_fresh_texts(
    held: Sequence[int], texts: Sequence[Sequence[str]], n: int, used: set[str]
) -> list[int]:
    """`n` of a bin, those first that share no text with a pair taken before; `used` grows."""
    taken: list[int] = []
    for place in held:
        if len(taken) < n and not used & set(texts[place]):
            taken.append(place)
            used |= set(texts[place])
    rest = [place for place in held if place not in set(taken)][: n - len(taken)]
    return taken + rest


@dataclass(frozen=True)
class SampledItem:
    """An item: what is shown, what is right, and where it comes from."""

    payload: Mapping[str, Any]
    gold: Any
    source_id: str
    documents: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()

    @property
    def text(self) -> str:
        """The text to look for in training data: the text, the pair in either order, or the query."""
        if "text1" in self.payload:
            return join_pair_text(self.payload["text1"], self.payload["text2"])
        return str(self.payload.get("text") or self.payload["query"])

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is shown."""
        documents = tuple(document["text"] for document in self.payload.get("documents", ()))
        alone = tuple(self.payload[key] for key in ("text", "text1", "text2", "query") if key in self.payload)
        return alone + documents


@dataclass(frozen=True)
class SampledTask:
    """The items of a task with practice, all labels there are, and what is to be said of the draw.

    `about_gold` are notes for the owner alone: the study does not keep them, since they would tell annotators how many
    groups or relevant documents to look for. `trained` are the texts that models may train on, as `SampledItem.text`
    has them.
    """

    items: tuple[SampledItem, ...]
    practice: tuple[PracticeItem, ...] = ()
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    about_gold: tuple[str, ...] = ()
    trained: tuple[str, ...] = ()


def join_pair_text(one: str, other: str) -> str:
    """Two texts as one, the same in either order.

    >>> join_pair_text("b", "a")
    'a\\nb'
    """
    # A pair is the same pair in either order.
    return "\n".join(sorted((one, other), key=normalise_text_for_comparison))


def make_count_note(number: int, what: str, then: str) -> tuple[str, ...]:
    """A note on so many things, none for none.

    >>> make_count_note(1, "text", "left out"), make_count_note(0, "text", "left out")
    (('1 text left out',), ())
    """
    plural = {"query": "queries"}.get(what, f"{what}s")
    return (f"{number} {what if number == 1 else plural} {then}",) if number else ()


def normalise_text_for_comparison(text: str) -> str:
    """A text as it is compared: composed, without regard to case and to runs of white space.

    >>> normalise_text_for_comparison("  A  Cat\\n") == normalise_text_for_comparison("a cat")
    True
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def find_positions_of_distinct_texts(texts: Sequence[str]) -> list[int]:
    """Positions of the first of all that read the same, in order.

    >>> find_positions_of_distinct_texts(["a", "b", "A "])
    [0, 1]
    """
    first: dict[str, int] = {}
    for place, text in enumerate(texts):
        first.setdefault(normalise_text_for_comparison(text), place)
    return list(first.values())


def find_contradicted_texts(texts: Sequence[str], labels: Sequence[str]) -> frozenset[str]:
    """The texts, as compared, that are there with more than one label: whatever a person answers, a gold is against it.

    >>> sorted(find_contradicted_texts(["so so", "So so", "good"], ["pos", "neg", "pos"]))
    ['so so']
    """
    seen: dict[str, set[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        seen.setdefault(normalise_text_for_comparison(text), set()).add(label)
    return frozenset(text for text, golds in seen.items() if len(golds) > 1)


SHAPES: Mapping[Family, tuple[str, ...]] = {
    "classification": ("classification", "labelled"),
    "clustering": ("labelled",),
    "reranking": ("reranking", "retrieval"),
    "sts": ("pairs",),
}
"""Family -> the shapes its items are drawn from, the first that a dataset has."""
TRAIN, TEST = "train", "test"


@dataclass(frozen=True)
class TaskToDraw:
    """One task to draw: data in one shape and one language. `lang` is ISO 639-3, `own_lang` as the data write it."""

    request: TaskSampleRequest
    family: Family
    shape: str
    lang: str
    own_lang: str
    data: LoadedDataset[Any]
    trained: tuple[str, ...] = ()
    """Texts that models may train on, besides the training side of a classification."""
    drawn_from: str = ""
    """The split of a table that the items are from; empty where it has none."""


def open_sampling_tasks(request: TaskSampleRequest) -> Iterator[TaskToDraw]:
    """Every task that a request is for: by family and language. Raises UsageError where it is for none."""
    dataset = open_dataset(request.data, mapping=request.map, split=request.split, grades=request.grades)
    families = request.family or _find_dataset_families(request, dataset)
    for family in families:
        shape = _choose_data_shape_for_task(request, family, dataset)
        yield from _iterate_tasks_to_draw_by_language(request, family, shape, dataset)


def _find_dataset_families(request: TaskSampleRequest, dataset: Dataset) -> list[Family]:
    """Those that the data are meant for, else all whose columns they have."""
    meant = dataset.tasks_in("hume")
    families = [family for family in FAMILIES if _find_possible_data_shapes(request, family, dataset)]
    families = [family for family in families if meant is None or family in meant]
    if not families:
        raise UsageError(
            f"{dataset.name} has no data for any HUME family; it can be used as {', '.join(dataset.shapes())}.",
            mend="Map its columns with --map (text, label, text2, score, query).",
        )
    return families


def _choose_data_shape_for_task(request: TaskSampleRequest, family: Family, dataset: Dataset) -> str:
    shapes = _find_possible_data_shapes(request, family, dataset)
    if not shapes:
        lacking = min((dataset.missing(shape) for shape in _list_family_shapes(request, family)), key=len)
        raise UsageError(
            f"{dataset.name} cannot be sampled for {family}: it has no {', '.join(lacking) or 'rows to train on'}.",
            mend="Map the columns with --map, or leave this family out.",
        )
    return shapes[0]


def _find_possible_data_shapes(request: TaskSampleRequest, family: Family, dataset: Dataset) -> list[str]:
    """The shapes of a family that the dataset can give; a classification needs rows to train on."""
    return [
        shape
        for shape in _list_family_shapes(request, family)
        if not dataset.missing(shape) and (shape != "classification" or has_training_rows(dataset))
    ]


def has_training_rows(dataset: Dataset) -> bool:
    """Whether the dataset is a classification with rows to train on, not only a table with a column `split`."""
    return not dataset.missing("classification") and TRAIN in _find_dataset_splits(dataset, "classification")


def _list_family_shapes(request: TaskSampleRequest, family: Family) -> tuple[str, ...]:
    if family == "reranking" and request.negatives:
        return ("reranking",) if request.negatives == "lists" else ("retrieval",)
    return SHAPES[family]


def _iterate_tasks_to_draw_by_language(
    request: TaskSampleRequest, family: Family, shape: str, dataset: Dataset
) -> Iterator[TaskToDraw]:
    tested, drawn_from = _choose_test_split_of_dataset(request, shape, dataset)
    subsets = tested.subsets(shape)
    # Data that do not say their language are in the one that was asked for.
    if request.lang and len(subsets) == 1 and set(subsets) <= {"und", ""}:
        subsets = {"und": next(iter(subsets.values()))}
    wanted = {convert_to_iso_639_3(lang) for lang in request.lang}
    stated = list(subsets) == ["und"] and len(wanted) == 1
    for own, subset in subsets.items():
        lang = next(iter(wanted)) if stated else convert_to_iso_639_3(own)
        if wanted and lang not in wanted:
            continue
        trained = _list_training_texts_for_leak_check(request, shape, dataset, own, len(subsets) > 1)
        yield TaskToDraw(
            request, family, shape, lang, "" if len(subsets) == 1 else own, subset.load(shape), trained, drawn_from
        )  # fmt: skip
    if missing := sorted(wanted - {convert_to_iso_639_3(own) for own in subsets}) if not stated else []:
        raise UsageError(
            f"{dataset.name} has no items in {', '.join(missing)}.",
            mend=f"It has {', '.join(convert_to_iso_639_3(own) for own in subsets)}.",
        )


def _choose_test_split_of_dataset(request: TaskSampleRequest, shape: str, dataset: Dataset) -> tuple[Dataset, str]:
    """The rows of the split `test`, where there are such and no split was asked for; and the name of the split."""
    if request.split or shape == "classification":
        return dataset, request.split or TEST
    if shape == "retrieval" or TEST not in _find_dataset_splits(dataset, shape):
        return dataset, ""
    return _restrict_dataset_to_split(dataset, shape, TEST), TEST


def _list_training_texts_for_leak_check(
    request: TaskSampleRequest, shape: str, dataset: Dataset, sub: str, several: bool
) -> tuple[str, ...]:
    """The texts of the split `train` of the same table, and of the data given to compare with."""
    texts: list[str] = []
    if shape in ("pairs", "labelled") and TRAIN in _find_dataset_splits(dataset, shape) and request.split is None:
        train = _restrict_dataset_to_split(dataset, shape, TRAIN)
        texts += _compared_texts((train.only(sub) if several else train), shape)
    for spec in request.against:
        texts += _compared_texts(open_dataset(spec, mapping=request.map), shape)
    return tuple(texts)


def _compared_texts(dataset: Dataset, shape: str) -> list[str]:
    """Every text of a dataset as items are compared: pairs in either order, queries without their documents."""
    data = dataset.load("labelled" if shape == "classification" else shape).data
    if shape == "pairs":
        return list(starmap(join_pair_text, zip(data.first, data.second, strict=True)))
    if shape == "reranking":
        return [query for queries in data.queries for query in queries]
    if shape == "retrieval":
        return list(data.queries.texts)
    return list(data.texts)


def _find_dataset_splits(dataset: Dataset, shape: str) -> frozenset[str]:
    source = dataset.parts.get(shape)
    if source is None or "split" not in source.columns():
        return frozenset()
    return frozenset(cell_text(row.cells.get("split")) for row in source.rows(("split",)))


def _restrict_dataset_to_split(dataset: Dataset, shape: str, split: str) -> Dataset:
    rows = FilteredRowsView(dataset.parts[shape], {"split": frozenset({split})})
    return replace(dataset, parts={**dataset.parts, shape: rows})


def count_empty_corpus_documents(loaded: LoadedDataset[Any], shape: str) -> int:
    """How many documents of a corpus are empty; texts of the other shapes never are."""
    if shape != "retrieval":
        return 0
    if not len(loaded.data):
        raise DataError("The corpus has no documents")
    return sum(not text.strip() for text in loaded.data.corpus.texts)
