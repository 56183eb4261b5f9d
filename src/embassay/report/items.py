"""The Items page: what happened on single texts, system A beside system B."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import EmbassayError
from embassay.parquet import read_parquet
from embassay.protocols.kernel import tables as numbers
from embassay.randomness import make_seeded_generator
from embassay.registry import import_attribute
from embassay.report.record import RunRecord, SystemOfRun
from embassay.report.runs import ReportRun
from embassay.runs.folder import RunFolder

Values = NDArray[np.float64]
SUPERFICIAL = ("capitalize", "delete10", "numerize")
SEMANTIC = ("negate", "sentence_shuffle", "word_shuffle")
EDIT_WORDS = {
    "capitalize": "capitals", "delete10": "10th letter deleted", "numerize": "digits for letters",
    "negate": "negated", "sentence_shuffle": "sentences shuffled", "word_shuffle": "words shuffled",
    "summary": "summary", "synonyms": "synonyms", "typos": "typos", "ocr": "scanning errors",
    "speech": "as spoken", "facts": "other facts"
}  # fmt: skip
POSITIONS = ("0", "0.5", "1")
"""At the start, in the middle, at the end."""
SIZES = {"insertion": ("0.15", "0.5", "1"), "removal": ("0.15", "0.5", "0.9")}
POSITION_WORDS = {"0": "at the start", "0.5": "in the middle", "1": "at the end"}
SPANS = tuple((f"{kind}:p={p},q={q}", kind, float(p), q) for kind in SIZES for p in SIZES[kind] for q in POSITIONS)


@dataclass(frozen=True)
class Measure:
    """A value per item. `key` is its (measure, variant) in the items files; `edit` the edit it belongs to."""

    key: tuple[str, str]
    title: str
    edit: str = ""


@dataclass(frozen=True)
class ItemKind:
    """One kind of item: comparisons and ratings of a task are two. `noun` counts them."""

    name: str
    task: str
    title: str
    noun: str
    measures: tuple[Measure, ...]


def describe_edit(edit: str) -> str:
    """An edit in words.

    >>> describe_edit("negate"), describe_edit("removal:p=0.15,q=0.5")
    ('negated', '15% removed in the middle')
    """
    span = next((edits for edits in SPANS if edits[0] == edit), None)
    if span is None:
        return EDIT_WORDS.get(edit, edit)
    _, kind, size, position = span
    done = "inserted" if kind == "insertion" else "removed"
    return f"{100 * size:.0f}% {done} {POSITION_WORDS[position]}"


def _make_similarity_measure_per_edit(edits: tuple[str, ...]) -> tuple[Measure, ...]:
    return tuple(Measure(("similarity", edit), f"similarity, {describe_edit(edit)}", edit) for edit in edits)


REPLACED = (*SUPERFICIAL, *SEMANTIC, *(span[0] for span in SPANS if span[2] < 0.9))
KINDS = (
    ItemKind("comparisons", "preference", "Preference: comparisons", "comparison", (
        Measure(("correct", ""), "follows the human choice"),
        Measure(("similarity", "first"), "similarity of summary 1"),
        Measure(("similarity", "second"), "similarity of summary 2"),
    )),
    ItemKind("ratings", "preference", "Preference: ratings", "rated summary", (
        Measure(("similarity", "rating"), "similarity of source and summary"),
    )),
    ItemKind("robustness", "robustness", "Robustness", "document", (
        Measure(("robustness", ""), "robustness"),
        *_make_similarity_measure_per_edit(("summary", *SUPERFICIAL, *SEMANTIC)),
    )),
    ItemKind("sensitivity", "sensitivity", "Sensitivity", "document", (
        Measure(("sensitivity", ""), "sensitivity"),
        *_make_similarity_measure_per_edit(tuple(span[0] for span in SPANS)),
    )),
    ItemKind("clustering", "clustering", "Clustering", "set", (Measure(("v_measure", "set"), "V-measure"),)),
    ItemKind("retrieval", "retrieval", "Retrieval", "query", (
        Measure(("ndcg@10", "augmented"), "nDCG@10, with all copies"),
        Measure(("ndcg@10", "original"), "nDCG@10, clean corpus"),
        *(Measure(("ndcg@10", f"replaced:{edit}"), f"nDCG@10, {describe_edit(edit)}", edit)
          for edit in REPLACED),
    ))
)  # fmt: skip


@dataclass(frozen=True)
class DatasetItemValues:
    """The items of one kind on one dataset: ids, and values (measures, systems, items), NaN where missing."""

    kind: ItemKind
    dataset: str
    lang: str
    ids: tuple[str, ...]
    systems: tuple[SystemOfRun, ...]
    measures: tuple[Measure, ...]
    values: Values

    @cached_property
    def mean_over_systems(self) -> Values:
        """The mean over systems of each measure and item, (measures, items); NaN where none has a value."""
        defined = np.isfinite(self.values)
        total = np.where(defined, self.values, 0.0).sum(axis=1)
        # `nanmean` warns of items that no system has a value for.
        counts = defined.sum(axis=1)
        return np.asarray(np.where(counts > 0, total / np.maximum(counts, 1), np.nan))


def read_item_groups(record: RunRecord) -> tuple[DatasetItemValues, ...]:
    """Every kind of item on every dataset that a ranked system has values for."""
    if record.kind == "pteb":
        from embassay.report.pteb.drops import list_pteb_item_groups

        return list_pteb_item_groups(record)
    if record.kind in ("score", "names", "noise", "hume"):
        return tuple(list_measured_item_groups(record))
    if record.kind != "sage":
        return ()
    langs = record.dataset_languages
    groups = (
        read_item_values(record, kind, dataset, langs.get(dataset, ""))
        for kind in KINDS
        for dataset in record.datasets(kind.task)
    )
    return tuple(group for group in groups if group is not None)


Columns = dict[tuple[str, str], tuple[list[str], Values]]


def read_item_values(record: RunRecord, kind: ItemKind, dataset: str, lang: str) -> DatasetItemValues | None:
    """The values of a kind of item on a dataset; None where no system has any of its measures."""
    folder = RunFolder(record.path)
    offered = [
        (system, _read_system_values(folder, kind, dataset, system)) for system in record.list_non_reference_systems
    ]
    if kind.name == "sensitivity":
        from embassay.report.sage.tables import is_linear_curve_expected

        for _, read in offered:
            _add_sensitivity_scores(read or {}, linear=is_linear_curve_expected(record))
    systems = tuple(system for system, read in offered if read is not None)
    columns = [read for _, read in offered if read is not None]
    measures = tuple(measure for measure in kind.measures if any(measure.key in read for read in columns))
    if not measures:
        return None
    ids = next(read[measures[0].key][0] for read in columns if measures[0].key in read)
    place = {identifier: i for i, identifier in enumerate(ids)}
    values = np.full((len(measures), len(columns), len(ids)), np.nan)
    for s, read in enumerate(columns):
        for m, measure in enumerate(measures):
            if measure.key in read:
                values[m, s] = _align_column_to_item_ids(*read[measure.key], ids, place)
    return DatasetItemValues(kind, dataset, lang, tuple(ids), systems, measures, values)


def _align_column_to_item_ids(names: list[str], column: Values, ids: list[str], place: dict[str, int]) -> Values:
    """The column in the order of `ids`; systems usually share that order."""
    if names == ids:
        return column
    values = np.full(len(ids), np.nan)
    for name, value in zip(names, column, strict=True):
        if name in place:
            values[place[name]] = value
    return values


def _read_system_values(folder: RunFolder, kind: ItemKind, dataset: str, system: SystemOfRun) -> Columns | None:
    """The values of a system by measure and variant; None where it has no items on the dataset."""
    import polars as pl

    path = folder.locate_cell_items(kind.task, dataset, system.name)
    if not path.exists():
        return None
    frame = read_parquet(path, ["item_id", "variant", "measure", "value"])
    frame = frame.with_columns(pl.col("value").fill_null(float("nan")))
    parts = frame.group_by("measure", "variant", maintain_order=True).agg("item_id", "value")
    columns: Columns = {
        (measure, variant): (ids.to_list(), values.to_numpy())
        for measure, variant, ids, values in zip(*parts.get_columns(), strict=True)
    }
    return columns


def _add_sensitivity_scores(read: Columns, *, linear: bool) -> None:
    """A document's own score: 1 - the mean distance from the expected curve over its variants."""
    spans = [span for span in SPANS if ("similarity", span[0]) in read]
    if not spans:
        return
    from embassay.report.sage.tables import compute_expected_similarity_after_edit

    names = read["similarity", spans[0][0]][0]
    close = [
        1 - np.abs(read["similarity", edit][1] - compute_expected_similarity_after_edit(size, linear=linear))
        for edit, _, size, _ in spans
    ]
    read["sensitivity", ""] = (names, np.mean(close, axis=0))


LENGTHS = {"text": 1_200, "source": 1_200, "summary": 600, "first": 600, "second": 600, "document": 240, "query": 400}
SHORT = 200


class ExcerptStore:
    """Excerpts by number; a text has one, as long as the longest that was asked for, but never over `longest`
    characters. `cut` holds the full length of those that were shortened; `is_short` where a report of several runs
    has fewer of a set's members."""

    def __init__(self, longest: int = 10**9, *, is_short: bool = False) -> None:
        self.longest = longest
        self.is_short = is_short
        self.texts: list[str] = []
        self.cut: dict[int, int] = {}
        self._places: dict[str, int] = {}

    def add(self, text: str, most: int) -> int:
        """The number of the excerpt of `text`: at least its first `most` characters, or up to a space near there."""
        excerpt = shorten_text(text, min(most, self.longest))
        place = self._places.setdefault(text, len(self.texts))
        if place == len(self.texts):
            self.texts.append("")
        # A text that stands in several groups is kept once, at the greatest length that any asked for.
        if len(excerpt) > len(self.texts[place]):
            self.texts[place] = excerpt
            self.cut.pop(place, None)
            if len(excerpt) < len(text):
                self.cut[place] = len(text)
        return place

    def pack_sorted_excerpts(self) -> dict[str, list[Any]]:
        """The texts sorted, so that those that begin alike stand together and compress well, and the place of each."""
        order = sorted(range(len(self.texts)), key=lambda place: self.texts[place])
        places = {place: i for i, place in enumerate(order)}
        return {"texts": [self.texts[i] for i in order], "places": [places[i] for i in range(len(order))]}


def shorten_text(text: str, most: int) -> str:
    """The beginning of a text, ended at a space if one is near.

    >>> shorten_text("one two three", 9), shorten_text("one", 9)
    ('one two', 'one')
    """
    if len(text) <= most:
        return text
    space = text.rfind(" ", most * 2 // 3, most)
    return text[: space if space > 0 else most]


class ItemTextsByField:
    """What a task judged on a dataset: texts by field and item."""

    def __init__(self, folder: RunFolder, task: str, dataset: str) -> None:
        self._fields: dict[str, dict[str, str]] = {}
        path = folder.locate_task_texts(task, dataset)
        if not path.exists():
            return
        frame = read_parquet(path, ["item_id", "field", "text"])
        for (field,), part in frame.group_by(["field"], maintain_order=True):
            self._fields[str(field)] = dict(zip(part["item_id"].to_list(), part["text"].to_list(), strict=True))

    def text(self, field: str, item: str) -> str | None:
        """Find the text of an item's field; None where the run kept none."""
        return self._fields.get(field, {}).get(item)

    def items(self, field: str) -> Iterable[str]:
        """List the items that have the field, in their order."""
        return self._fields.get(field, {})


Part = dict[str, Any]


@dataclass(frozen=True)
class ItemGroupPageInputs:
    """Where the parts of a group's items come from; `ids` are the items that go into the page."""

    record: RunRecord
    folder: RunFolder
    group: DatasetItemValues
    ids: Sequence[str]
    judged: ItemTextsByField
    excerpts: ExcerptStore

    def texts(self, field: str) -> list[int]:
        """List the number of the excerpt of each item's field."""
        return [self.excerpts.add(self.judged.text(field, item) or "", LENGTHS[field]) for item in self.ids]


MEASURES: Mapping[str, tuple[str, ...]] = {
    "names": ("d_name", "RA-nWG@10"),
    "noise": ("similarity", "N-Recall4+@10", "RA-nWG@10"),
    "hume": ("correct", "ap", "similarity"),
}
"""What is shown of probes and HUME; of a scored run every measure."""
WORDS = {
    "d_name": "name margin", "correct": "right label, share of repeats", "ap": "average precision",
    "similarity": "similarity"
}  # fmt: skip
NOUNS = {"score": "query", "names": "query", "noise": "query"}
TITLES = {"score": "Queries", "names": "Queries", "noise": "Queries", "sts": "STS"}
FIELDS = ("text", "text1", "text2", "query")
DOCUMENTS = 10
NOTES = {
    "score": "The run's files contain ids, not texts. ",
    "names": "The probe recreates the queries from the seed. ",
    "noise": "The probe recreates the queries from the seed. ",
}


@dataclass(frozen=True)
class _TaskOnDataset:
    task: str
    dataset: str


def list_measured_item_groups(record: RunRecord) -> Iterator[DatasetItemValues]:
    """The items of every task and dataset that have a value of the measures shown."""
    langs = record.dataset_languages
    pairs = dict.fromkeys(_TaskOnDataset(cell.task, cell.dataset) for cell in record.cells)
    for pair in pairs:
        measures = _list_measures_and_variants(record, pair)
        if measures:
            title = TITLES.get(record.kind) or TITLES.get(pair.task) or pair.task.replace("_", " ").capitalize()
            kind = ItemKind("values", pair.task, title, NOUNS.get(record.kind, "item"), measures)
            group = read_item_values(record, kind, pair.dataset, langs.get(pair.dataset, ""))
            if group is not None:
                yield group


def make_values_item_data(source: ItemGroupPageInputs) -> Part:
    """The texts of every item by field, none where the run and its study have none."""
    texts = _read_item_texts(source)
    names = [name for name in texts if any(texts[name].values())]
    add = source.excerpts.add
    return {
        "fields": {name: [add(texts[name].get(item, ""), LENGTHS["query"]) for item in source.ids] for name in names},
        "titles": {name: _make_item_field_title(name) for name in names},
        "note": NOTES.get(source.record.kind, "") + "Every value is in the folder items/.",
    }


def _list_measures_and_variants(record: RunRecord, pair: _TaskOnDataset) -> tuple[Measure, ...]:
    """The measures and variants that any system has, in the order of its file."""
    folder, wanted = RunFolder(record.path), MEASURES.get(record.kind)
    measures: dict[tuple[str, str], None] = {}
    for system in record.list_non_reference_systems:
        path = folder.locate_cell_items(pair.task, pair.dataset, system.name)
        if not path.exists():
            continue
        frame = read_parquet(path, ["measure", "variant"]).unique(maintain_order=True)
        for measure, variant in frame.iter_rows():
            if (wanted is None or measure in wanted) and not variant.startswith("document="):
                measures.setdefault((measure, variant))
    order = {name: i for i, name in enumerate(wanted or ())}
    keys = sorted(measures, key=lambda key: order.get(key[0], 0))
    return tuple(Measure(key, _format_measure_title(record.kind, *key)) for key in keys)


def _format_measure_title(kind: str, measure: str, variant: str) -> str:
    name = WORDS.get(measure, measure)
    if not variant:
        return f"{name}, as written" if kind == "names" else name
    words = variant.replace("level=", "level ").replace(":", ", ").replace("_", " ")
    return f"{name}, {words}"


def _make_item_field_title(field: str) -> str:
    return {"text1": "Text 1", "text2": "Text 2"}.get(field, field.replace("_", " ").capitalize())


def _read_item_texts(source: ItemGroupPageInputs) -> dict[str, dict[str, str]]:
    """Read the texts of items, by field and item."""
    if source.record.kind != "hume":
        return {}
    by_id: dict[str, dict[str, str]] = {}
    for item in _read_study_items(str(source.record.arguments.get("study") or "")):
        if item.task != source.group.dataset:
            continue
        for field, text in _list_payload_texts(item.payload):
            by_id.setdefault(field, {})[item.id] = text
    return by_id


def _list_payload_texts(payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((name, str(payload[name])) for name in FIELDS if payload.get(name))
    for place, document in enumerate(payload.get("documents", ())[:DOCUMENTS], start=1):
        yield f"document_{place}", str(document.get("text", ""))


@lru_cache(maxsize=4)
def _read_study_items(path: str) -> tuple[Any, ...]:
    """Read the items of the study beside the run; none where it is missing or cannot be read."""
    from embassay.protocols.hume.study import read_study

    try:
        return tuple(read_study(Path(path)).items) if path else ()
    except (EmbassayError, OSError):
        return ()


BUDGET = 10_000_000
SHARED = 190_000
"""The budget of a report of several runs: each run has a report of its own with more of its items."""
SHORTEST = 1_200
"""Characters of a text at most in a report of several runs; that of each run has more."""
MOST = 4_000
FEWEST, LEAST = 20, 5
"""Items that a group has at least, in a report of one run and of several."""
BYTES_PER_VALUE = 5
BYTES_PER_ITEM = 1_500


def share_item_budget(needs: Sequence[tuple[int, int]], budget: int = BUDGET, fewest: int = FEWEST) -> list[int]:
    """How many items of each group fit the page's budget, from (items, values per item) of the groups.

    What a small group does not need is shared by the larger ones. A group never has more than 4,000 items, and
    never fewer than `fewest` unless it has no more.
    """
    costs = [BYTES_PER_ITEM + BYTES_PER_VALUE * values for _, values in needs]
    wanted = [min(items, MOST) for items, _ in needs]
    room, left = [0] * len(needs), budget
    # The smallest first: what they leave of their share goes to those that come after them.
    for waiting, i in enumerate(sorted(range(len(needs)), key=lambda i: wanted[i] * costs[i])):
        share = left // (len(needs) - waiting) // costs[i]
        room[i] = min(wanted[i], max(fewest, share))
        left = max(0, left - room[i] * costs[i])
    return room


def pick_item_indices_for_page(group: DatasetItemValues, most: int, seed: int) -> NDArray[np.int64]:
    """Indices of the items that go into the page, in their order.

    All of them if they fit. Else one half the worst (measure by measure in turn, lowest mean over systems
    first), the other half drawn with the seed from the rest.
    """
    n = len(group.ids)
    if n <= most:
        return np.arange(n)
    orders = [np.argsort(means, kind="stable") for means in group.mean_over_systems]
    # A dict keeps the order, and has an item only once that is worst by several measures.
    worst: dict[int, None] = {}
    for place in range(n):
        for order in orders:
            if len(worst) < most // 2:
                worst[int(order[place])] = None
        if len(worst) >= most // 2:
            break
    rest = np.setdiff1d(np.arange(n), np.fromiter(worst, dtype=np.int64))
    rng = make_seeded_generator(seed, "report", group.kind.name, group.dataset)
    drawn = rng.choice(rest, size=most - len(worst), replace=False)
    return np.sort(np.concatenate([np.fromiter(worst, dtype=np.int64), drawn]))


SCALE = 10_000
EXCERPT = 60
FEW_MEASURES = 1
"""Of every group in the table of worst items, in a report of several runs."""
FIRST_FIELDS = ("query", "text", "test", "summary", "first", "source")


@dataclass(frozen=True)
class WorstItem:
    """The item on which the systems do worst by one measure: the mean of their values there."""

    group: int
    measure: int
    title: str
    measure_title: str
    item: str
    mean: str
    excerpt: str


@dataclass(frozen=True)
class ItemExplorerPageContent:
    """The content of the page: what is left out, the worst items, and the data of the explorer."""

    facts: tuple[str, ...]
    left_out: tuple[str, ...]
    worst: tuple[WorstItem, ...]
    data: dict[str, Any]


def make_items_page(runs: Sequence[ReportRun]) -> ItemExplorerPageContent | None:
    """Make the page of items of all runs; None when none kept items."""
    offered = [(run, group) for run in runs for group in read_item_groups(run.record) if group.ids]
    if not offered:
        return None
    groups = [group for _, group in offered]
    seed = runs[0].record.arguments.get("seed") or 0
    excerpts = ExcerptStore() if len(runs) == 1 else ExcerptStore(SHORTEST, is_short=True)
    needs = [(len(group.ids), len(group.systems) * len(group.measures)) for group in groups]
    sizes = share_item_budget(needs) if len(runs) == 1 else share_item_budget(needs, SHARED, LEAST)
    chosen = [pick_item_indices_for_page(group, most, seed) for group, most in zip(groups, sizes, strict=True)]
    made = [
        _pack_item_group_for_script(run, group, rows, excerpts, several=len(runs) > 1)
        for (run, group), rows in zip(offered, chosen, strict=True)
    ]
    worst = [
        item
        for i, (group, rows) in enumerate(zip(groups, chosen, strict=True))
        for item in _find_worst_items(i, group, rows, made[i], excerpts, most=None if len(runs) == 1 else FEW_MEASURES)
    ]
    total = sum(len(group.ids) for group in groups)
    systems = {system.name for group in groups for system in group.systems}
    return ItemExplorerPageContent(
        facts=(numbers.format_noun_count(total, "item"), numbers.format_noun_count(len(systems), "system")),
        left_out=tuple(
            _describe_item_groups_shown_in_part(groups, chosen)
            if len(runs) == 1
            else _summarise_partial_groups(groups, chosen)
        ),
        worst=tuple(worst),
        data={
            **excerpts.pack_sorted_excerpts(),
            "cut": excerpts.cut,
            "edits": {edit: describe_edit(edit) for edit in (*REPLACED, *(span[0] for span in SPANS))},
            "copies": ["", *REPLACED],
            "groups": made,
        },
    )


def _pack_item_group_for_script(
    run: ReportRun, group: DatasetItemValues, rows: NDArray[np.int64], excerpts: ExcerptStore, *, several: bool
) -> dict[str, Any]:
    """Pack a group of items as the script reads it."""
    record = run.record
    folder = RunFolder(record.path)
    ids = [group.ids[row] for row in rows.tolist()]
    judged = ItemTextsByField(folder, group.kind.task, group.dataset)
    return {
        "kind": group.kind.name,
        "title": (f"{run.title}: " if several else "") + f"{group.kind.title}, {group.dataset}",
        "noun": group.kind.noun,
        "lang": group.lang,
        "total": len(group.ids),
        "systems": [system.index for system in group.systems],
        "measures": [{"title": measure.title, "edit": measure.edit} for measure in group.measures],
        "ids": ids,
        "values": [
            [_scale_column_to_ten_thousandths(column) for column in measure]
            for measure in group.values[:, :, rows].tolist()
        ],
        **_find_item_part_builder(group.kind.name)(ItemGroupPageInputs(record, folder, group, ids, judged, excerpts)),
    }


def _find_item_part_builder(name: str) -> Callable[[ItemGroupPageInputs], Part]:
    """Find what makes the part of a kind of item; of SAGE's by the kind's name."""
    module = {"reworded": "pteb.drops", "values": "items"}.get(name, "sage.edits")
    # Each kind of item has its builder in the module of its page, under its own name.
    return import_attribute(f"embassay.report.{module}:make_{name}_item_data")  # type: ignore[no-any-return]


def _scale_column_to_ten_thousandths(column: Sequence[float]) -> list[int | None]:
    """Scale values to whole ten-thousandths, None where missing."""
    return [None if value != value else round(value * SCALE) for value in column]


def _describe_item_groups_shown_in_part(
    groups: Sequence[DatasetItemValues], chosen: Sequence[NDArray[np.int64]]
) -> list[str]:
    """Describe which groups are shown in part, and which part."""
    return [
        (
            f"{group.kind.title}, {group.dataset}: {numbers.format_count(len(rows))} of "
            f"{numbers.format_noun_count(len(group.ids), group.kind.noun)}, half of them the worst by every "
            "measure, half sampled at random with the seed. All are in items/."
        )
        for group, rows in zip(groups, chosen, strict=True)
        if len(rows) < len(group.ids)
    ]


def _summarise_partial_groups(groups: Sequence[DatasetItemValues], chosen: Sequence[NDArray[np.int64]]) -> list[str]:
    """Say in one sentence which groups are shown in part."""
    shown, total = sum(map(len, chosen)), sum(len(group.ids) for group in groups)
    if shown == total:
        return []
    return [
        (
            f"This report of several runs shows {numbers.format_count(shown)} of "
            f"{numbers.format_noun_count(total, 'item')}. Where some are left out, half are the worst by every measure "
            "and half a random sample. The report of each run shows more; its folder items/ has all."
        )
    ]


def _find_worst_items(
    index: int,
    group: DatasetItemValues,
    rows: NDArray[np.int64],
    texts: dict[str, Any],
    excerpts: ExcerptStore,
    *,
    most: int | None,
) -> list[WorstItem]:
    """For each of the first `most` measures the item with the lowest mean over systems."""
    worst = []
    for m, measure in enumerate(group.measures[:most]):
        means = group.mean_over_systems[m, rows]
        if not np.isfinite(means).any():
            continue
        place = int(np.nanargmin(means))
        worst.append(
            WorstItem(
                index, m, texts["title"], measure.title, texts["ids"][place],
                numbers.format_score(float(means[place])), _excerpt_first_text(texts, place, excerpts),
            )
        )  # fmt: skip
    return worst


def _excerpt_first_text(texts: dict[str, Any], place: int, excerpts: ExcerptStore) -> str:
    field = next((name for name in FIRST_FIELDS if name in texts["fields"]), None)
    return "" if field is None else shorten_text(excerpts.texts[texts["fields"][field][place]], EXCERPT)
