"""From the rows of one table to records: texts, pairs, labels to train and test with, other wordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

import numpy as np

from embassay.data.corpus import limit_corpus, make_documents_record_of_corpus, read_corpus
from embassay.data.intake import SkipRecordingReader, collect_ids_and_text_columns, make_no_usable_rows_error
from embassay.data.rows import (
    RowSource,
    SourceRow,
    make_cell_error,
    make_missing_column_error,
    raise_or_collect_fault,
    read_binary_label,
    read_label_cell,
    read_number_cell,
    read_pairwise_choice,
    read_row_id,
    read_text_cell,
    read_text_list_cell,
)
from embassay.data.shapes import find_axis_columns
from embassay.data.tables import unroll_list_columns
from embassay.data.views import (
    OTHER,
    SmallestHashSample,
    SourceView,
    check_item_limit_is_positive,
    draw_stratified,
    drop_repeated_columns,
)
from embassay.errors import DataError, UsageError
from embassay.randomness import draw_random_bytes
from embassay.records import (
    Classification,
    Documents,
    HumanRatedSummaries,
    LabelledTextPairs,
    LabelledTexts,
    ScoredTextPairs,
    SummaryComparisons,
    SummaryRatings,
    TextsWithParaphrases,
)


@dataclass
class _TextWithSummaries:
    text: str
    references: list[str]
    summaries: list[str] = field(default_factory=list)
    relevance: list[float] = field(default_factory=list)


def read_judged_summaries(
    source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int
) -> HumanRatedSummaries:
    """Texts with people's summaries and rated machine summaries; `limit` counts texts.

    A row is a text with its `references`, its `summaries` and their `relevance`, all lists, or a text with
    its `references`, one `summary` and its `relevance`; rows of one `doc_id`, without it of one text, belong
    together. Skipped are texts that lack either kind, and machine summaries that are blank or not rated.
    """
    items = (
        _read_nested_summaries(source, intake)
        if "summaries" in source.columns()
        else _group_summary_rows_by_text(source, intake)
    )
    taken = intake.draw_usable_items(
        source,
        items,
        lambda key, item: _has_usable_summaries(key, item, intake),
        SmallestHashSample[tuple[str, _TextWithSummaries]](limit, seed),
    )
    return HumanRatedSummaries(
        tuple(key for key, _ in taken),
        tuple(item.text for _, item in taken),
        tuple(tuple(item.references) for _, item in taken),
        tuple(tuple(item.summaries) for _, item in taken),
        tuple(np.array(item.relevance, np.float64) for _, item in taken),
    )


def _read_nested_summaries(source: RowSource, intake: SkipRecordingReader) -> Iterable[tuple[str, _TextWithSummaries]]:
    def parse(row: SourceRow, key: str) -> _TextWithSummaries | None:
        item = _read_text_with_summaries(row, key, intake)
        written, rated = row.cells.get("summaries"), row.cells.get("relevance")
        if not isinstance(written, list):
            raise make_cell_error(row, "summaries", "a list of texts")
        if not isinstance(rated, list) or len(rated) != len(written):
            raise make_cell_error(row, "relevance", f"a list of {len(written)} numbers, one per summary")
        if item is not None:
            for summary, relevance in zip(written, rated, strict=True):
                _add_rated_summary_to_item(item, key, _make_summary_relevance_row(row, summary, relevance), intake)
        return item

    # `drawn` draws, of the usable
    return intake.read(source, ["text", "references", "summaries", "relevance"], parse, SmallestHashSample(None, 0))


def _group_summary_rows_by_text(
    source: RowSource, intake: SkipRecordingReader
) -> Iterable[tuple[str, _TextWithSummaries]]:
    key_column = "doc_id" if "doc_id" in source.columns() else "text"
    # None for a text that cannot be used: its other rows are then passed over, not counted as texts again.
    items: dict[str, _TextWithSummaries | None] = {}
    lang = ("lang",) if "lang" in source.columns() else ()
    for row in source.rows(drop_repeated_columns((key_column, "text", "references", "summary", "relevance", *lang))):
        try:
            if key_column == "text" and read_text_cell(row, "text") is None:
                intake.tally.count_skipped_item("no text", f"line {row.line}")
                continue
            key = read_row_id(row, key_column)
            if key not in items:
                items[key] = _read_text_with_summaries(row, key, intake)
            item = items[key]
            if item is not None:
                _add_rated_summary_to_item(item, key, row, intake)
                intake.note_row_language(row)
        except DataError as error:
            raise_or_collect_fault(error)
    return [(key, item) for key, item in items.items() if item is not None]


def _read_text_with_summaries(row: SourceRow, key: str, intake: SkipRecordingReader) -> _TextWithSummaries | None:
    texts = intake.texts(row, key, "text")
    return (
        None
        if texts is None
        else _TextWithSummaries(texts[0], [text for text in read_text_list_cell(row, "references") if text])
    )


def _make_summary_relevance_row(row: SourceRow, summary: Any, relevance: Any) -> SourceRow:
    return SourceRow(row.path, row.line, {"summary": summary, "relevance": relevance})


def _add_rated_summary_to_item(item: _TextWithSummaries, key: str, row: SourceRow, intake: SkipRecordingReader) -> None:
    summary, relevance = read_text_cell(row, "summary"), read_number_cell(row, "relevance")
    if summary is None or relevance is None:
        intake.tally.count_skipped_item(
            "summaries without text" if summary is None else "summaries without a rating", key
        )
        return
    item.summaries.append(summary)
    item.relevance.append(relevance)


def _has_usable_summaries(key: str, item: _TextWithSummaries, intake: SkipRecordingReader) -> bool:
    if item.references and item.summaries:
        return True
    kind = "reference" if not item.references else "rated summary"
    intake.tally.count_skipped_item(f"texts without a {kind}", key)
    return False


@dataclass(frozen=True)
class PreferencePairsFromRanks(SourceView):
    """Every two rows that agree on the `group` columns; the lower `rank` (1 = best) is preferred.

    Which summary is first is decided by a hash of the two ids, so neither position is favoured. Equal or
    missing ranks give a choice of None, which is dropped and counted where comparisons are read.
    """

    group: tuple[str, ...]
    rank: str

    def __post_init__(self) -> None:
        for column in (*self.group, self.rank, "id", "text", "summary"):
            if column not in self.source.columns():
                raise make_missing_column_error(self.source, column)

    def columns(self) -> tuple[str, ...]:
        """The columns of a comparison."""
        lang = ("lang",) if "lang" in self.source.columns() else ()
        return ("id", "text", "summary_1", "summary_2", "choice", *lang)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """One row per pair, group by group in the order of first appearance."""
        lang = ("lang",) if "lang" in columns else ()
        groups: dict[tuple[str, ...], list[SourceRow]] = {}
        for row in self.source.rows(drop_repeated_columns(("id", "text", "summary", *lang, *self.group, self.rank))):
            groups.setdefault(tuple(read_row_id(row, column) for column in self.group), []).append(row)
        for members in groups.values():
            for first, second in combinations(members, 2):
                yield self._make_preference_pair_row(first, second)

    def _make_preference_pair_row(self, left: SourceRow, right: SourceRow) -> SourceRow:
        ids = read_row_id(left, "id"), read_row_id(right, "id")
        swapped = draw_random_bytes(1, 0, "pairs", *ids)[0] & 1  # the seed of a run must not change the data
        first, second = (right, left) if swapped else (left, right)
        cells = {
            **first.cells,
            "id": f"{read_row_id(first, 'id')} + {read_row_id(second, 'id')}",
            "summary_1": first.cells["summary"],
            "summary_2": second.cells["summary"],
            "choice": self._find_index_of_preferred_row(first, second),
        }
        return SourceRow(first.path, max(first.line, second.line), cells)

    def _find_index_of_preferred_row(self, first: SourceRow, second: SourceRow) -> int | None:
        ranks = read_number_cell(first, self.rank), read_number_cell(second, self.rank)
        if ranks[0] is None or ranks[1] is None or ranks[0] == ranks[1]:
            return None
        return int(ranks[0] > ranks[1])


def read_documents(source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int) -> Documents:
    """Texts; rows without one are skipped."""
    check_item_limit_is_positive(limit)
    corpus = read_corpus(source, _read_usable_text, intake, "texts, without blank ones")
    return make_documents_record_of_corpus(limit_corpus(corpus, limit, seed), intake)


def _read_usable_text(row: SourceRow, key: str, intake: SkipRecordingReader) -> str | None:
    texts = intake.texts(row, key, "text")
    return texts[0] if texts else None


def read_summarised_texts(source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int) -> Documents:
    """Texts with their summaries; rows without either are skipped."""

    def parse(row: SourceRow, key: str) -> tuple[str, ...] | None:
        pair = intake.texts(row, key, "text", "summary")
        return pair and (*pair, read_label_cell(row, "lang") or "")

    ids, (texts, summaries, langs) = collect_ids_and_text_columns(
        intake.read(source, ["text", "summary"], parse, SmallestHashSample(limit, seed)), 3
    )
    intake.note_odd_texts(ids, texts)
    for key, text, summary in zip(ids, texts, summaries, strict=True):
        if text == summary:
            intake.tally.count_warned_item("summaries equal to their text", key)
    return Documents(ids, texts, summaries, langs if "lang" in source.columns() else None)


def read_summary_comparisons(
    source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int
) -> SummaryComparisons:
    """Choices between two summaries; ties and rows without a text or summary are skipped."""

    def parse(row: SourceRow, key: str) -> tuple[tuple[str, ...], int] | None:
        texts = intake.texts(row, key, "text", "summary_1", "summary_2")
        choice = read_pairwise_choice(row, "choice")
        if texts is not None and choice is None:
            intake.tally.count_skipped_item("tie or no choice", key)
        return None if texts is None or choice is None else (texts, choice)

    columns = ["text", "summary_1", "summary_2", "choice"]
    taken = intake.read(source, columns, parse, SmallestHashSample(limit, seed))
    ids, (sources, first, second) = collect_ids_and_text_columns([(key, texts) for key, (texts, _) in taken], 3)
    for key, x, y in zip(ids, first, second, strict=True):
        if x == y:
            intake.tally.count_warned_item("comparisons of identical summaries", key)
    return SummaryComparisons(ids, sources, first, second, np.array([choice for _, (_, choice) in taken], np.int8))


def read_summary_ratings(
    source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int
) -> SummaryRatings:
    """Ratings per axis, NaN where one is missing (counted); rows with none at all are skipped."""
    axes = find_axis_columns(source.columns())

    def parse(row: SourceRow, key: str) -> tuple[tuple[str, ...], list[float | None]] | None:
        texts = intake.texts(row, key, "text", "summary")
        values = [read_number_cell(row, column) for column in axes.values()]
        if texts is None:
            return None
        for axis, value in zip(axes, values, strict=True):
            if value is None:
                intake.tally.count_skipped_item(f"no rating on the axis {axis}", key)
        return None if all(value is None for value in values) else (texts, values)

    taken = intake.read(source, ["text", "summary", *axes.values()], parse, SmallestHashSample(limit, seed))
    ids, (sources, summaries) = collect_ids_and_text_columns([(key, texts) for key, (texts, _) in taken], 2)
    table = np.array([values for _, (_, values) in taken], np.float64)
    return SummaryRatings(ids, sources, summaries, {axis: table[:, i] for i, axis in enumerate(axes)})


_TRUTH = {"true": "1", "false": "0"}


class LabelSpellings:
    """The labels of a column, each with the ways in which it is written: 1, "1" and 1.0 are one label."""

    def __init__(self) -> None:
        self._written: dict[str, dict[str, str]] = {}

    def label(self, row: SourceRow, key: str) -> str | None:
        """The label of a row; None where there is none."""
        label = read_label_cell(row, "label")
        if label is not None:
            self._written.setdefault(label, {}).setdefault(repr(row.cells["label"]), key)
        return label

    def unify_label_spellings(self, labels: Iterable[str], intake: SkipRecordingReader) -> list[str]:
        """The labels, in which true and false are 1 and 0 if both ways are used and no other label is; and a warning of
        each that is written in more than one way."""
        known = set(self._written)
        both = known & set(_TRUTH) and known & set(_TRUTH.values())
        same = _TRUTH if both and known <= {*_TRUTH, *_TRUTH.values()} else {}
        ways: dict[str, list[str]] = {}
        for label, written in self._written.items():
            ways.setdefault(same.get(label, label), []).extend(written)
        for label, spelt in ways.items():
            if len(spelt) > 1:
                intake.tally.count_warned_item(
                    "labels with several spellings, read as one", f"{label}: {', '.join(spelt)}"
                )
        return [same.get(label, label) for label in labels]


def read_labelled_texts(source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int) -> LabelledTexts:
    """Texts with labels; rows without either, and sets with one label only, are skipped.

    A row may hold a list of texts and one of labels, and is a set then, as in MTEB's clustering datasets.
    `limit` counts texts per set, drawn in proportion to the labels (spec sage 7).
    """
    if limit is not None and limit < 2:
        raise UsageError(f"The limit is {limit}, but labelled texts need at least 2.", mend="Raise --limit.")
    source = unroll_list_columns(source, ("text", "label"))
    has_sets, spellings = "set" in source.columns(), LabelSpellings()

    def parse(row: SourceRow, key: str) -> tuple[str, ...] | None:
        texts = intake.texts(row, key, "text")
        label = spellings.label(row, key)
        if texts is not None and label is None:
            intake.tally.count_skipped_item("no label", key)
        group = read_label_cell(row, "set") if has_sets else None
        return None if texts is None or label is None else (*texts, label, group or "")

    columns = ["text", "label", *(["set"] if has_sets else [])]
    # All are read: the limit is for each set, and needs to know the labels in it.
    ids, (texts, written, sets) = collect_ids_and_text_columns(
        intake.read(source, columns, parse, SmallestHashSample(None, seed)), 3
    )
    labels = spellings.unify_label_spellings(written, intake)
    chosen_rows: list[int] = []
    for members in _group_texts_by_set(labels, sets, ids, intake).values():
        chosen = draw_stratified([ids[m] for m in members], [labels[m] for m in members], limit, seed)
        chosen_rows.extend(members[i] for i in chosen)
    if not chosen_rows:
        raise make_no_usable_rows_error(source, len(ids), intake.tally.skipped())
    chosen_rows.sort()
    # A text of another set is no repeat: sets are clustered by themselves.
    intake.note_odd_texts([ids[k] for k in chosen_rows], [f"{sets[k]}\0{texts[k]}" for k in chosen_rows])
    return LabelledTexts(*(tuple(column[k] for k in chosen_rows) for column in (ids, texts, labels, sets)))


def _group_texts_by_set(
    labels: Sequence[str], sets: Sequence[str], ids: Sequence[str], intake: SkipRecordingReader
) -> dict[str, list[int]]:
    """Set -> positions of its texts, for sets with two or more labels; labels with one text get a warning."""
    members: dict[str, list[int]] = {}
    for position, group in enumerate(sets):
        members.setdefault(group, []).append(position)
    for group in list(members):
        sizes: dict[str, int] = {}
        for position in members[group]:
            sizes[labels[position]] = sizes.get(labels[position], 0) + 1
        if len(sizes) < 2:
            for position in members.pop(group):
                intake.tally.count_skipped_item("in a set with only one label", ids[position])
            continue
        where = f" in set {group}" if group else ""
        for label, size in sizes.items():
            if size == 1:
                intake.tally.count_warned_item("labels with only one text", f"{label}{where}")
    return members


def read_scored_pairs(source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int) -> ScoredTextPairs:
    """Pairs with a score; rows without a text or a score are skipped."""
    source = unroll_list_columns(source, ("text", "text2", "score"))

    def parse(row: SourceRow, key: str) -> tuple[tuple[str, ...], float] | None:
        texts = intake.texts(row, key, "text", "text2")
        score = read_number_cell(row, "score")
        if texts is not None and score is None:
            intake.tally.count_skipped_item("no score", key)
        return None if texts is None or score is None else (texts, score)

    taken = intake.read(source, ["text", "text2", "score"], parse, SmallestHashSample(limit, seed))
    ids, (first, second) = collect_ids_and_text_columns([(key, texts) for key, (texts, _) in taken], 2)
    scores = [score for _, (_, score) in taken]
    _note_repeated_pairs(ids, first, second, intake, scores)
    return ScoredTextPairs(ids, first, second, np.array(scores, np.float64))


def read_labelled_pairs(
    source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int
) -> LabelledTextPairs:
    """Pairs that belong together or not, drawn in proportion to the labels.

    Rows without a text or a label are skipped. DataError for a label that is neither 0 nor 1, and when all
    pairs have one label.
    """
    source = unroll_list_columns(source, ("text", "text2", "label"))
    others: dict[str, list[str]] = {}

    def parse(row: SourceRow, key: str) -> tuple[tuple[str, ...], int] | None:
        texts = intake.texts(row, key, "text", "text2")
        label = read_binary_label(
            row, "label",
            "If labels are words, give the label of pairs that mean the same: --map same=VALUE (all "
            "others count as different). If this value is a typo, correct it or remove the row."
        )  # fmt: skip
        if texts is not None and label is None:
            intake.tally.count_skipped_item("no label", key)
        elif OTHER in row.cells:
            others.setdefault(row.cells[OTHER], []).append(key)
        return None if texts is None or label is None else (texts, label)

    # All are read: the draw is in proportion to the labels, which are known only then.
    taken = intake.read(source, ["text", "text2", "label"], parse, SmallestHashSample(None, seed))
    labels = [label for _, (_, label) in taken]
    if len(set(labels)) < 2:
        raise DataError(
            "all pairs have the same label", path=source.path, expected="pairs with label 0 and pairs with label 1",
            found=f"{len(labels)} of label {labels[0]}" + (f": {', '.join(islice(others, 5))}" if others else ""),
            mend=("Check the label column (--map label=COLUMN), and which of its values means 1 "
                "(--map same=VALUE).")
        )  # fmt: skip
    if len(others) > 1:
        # One other word is the expected opposite; several may be slips of the pen, or a third answer.
        for value, keys in islice(others.items(), 10):
            for key in keys:
                intake.tally.count_warned_item(f"label {value}, counted as different", key)
    rows = draw_stratified([key for key, _ in taken], [str(label) for label in labels], limit, seed)
    ids, (first, second) = collect_ids_and_text_columns([(taken[k][0], taken[k][1][0]) for k in rows], 2)
    drawn = [labels[k] for k in rows]
    _note_repeated_pairs(ids, first, second, intake, drawn)
    return LabelledTextPairs(ids, first, second, np.array(drawn, np.int8))


def _note_repeated_pairs(
    ids: tuple[str, ...],
    first: tuple[str, ...],
    second: tuple[str, ...],
    intake: SkipRecordingReader,
    given: Sequence[float],
) -> None:
    # As one text each: the second text of many pairs is rightly the same.
    pairs = [f"{x}\0{y}" for x, y in zip(first, second, strict=True)]
    intake.note_odd_texts(ids, pairs, "pair")
    before: dict[str, float] = {}
    for key, pair, value in zip(ids, pairs, given, strict=True):
        if before.setdefault(pair, value) != value:
            intake.tally.count_warned_item("pairs with a different earlier judgement", key)


TRAIN, TEST = "train", "test"

Labelled = tuple[str, str, str]
"""Text, label, split."""


@dataclass(frozen=True)
class SplitRenamedToTestView(SourceView):
    """The split `test` stands for the test side; the source's own split of that name, if another, is left out."""

    test: str

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows of both sides, and of neither."""
        for path, line, cells in self.source.rows(drop_repeated_columns((*columns, "split"))):
            split = cells.get("split")
            if self.test != TEST and split in (self.test, TEST):
                # What the file itself calls `test` would be tested on too.
                split = TEST if split == self.test else f"not {self.test}"
            yield SourceRow(path, line, {**cells, "split": split})


def read_classification_texts(
    source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int
) -> Classification:
    """Training and test texts with labels; rows without either, and of other splits, are skipped.

    `limit` counts the texts of each side, drawn in proportion to the labels. DataError when a side is empty
    or trains on one label only.
    """

    spellings = LabelSpellings()

    def parse(row: SourceRow, key: str) -> Labelled | None:
        split = read_label_cell(row, "split")
        if split not in (TRAIN, TEST):
            intake.tally.count_skipped_item(f"in the split {split!r}" if split else "no split", key)
            return None
        texts = intake.texts(row, key, "text")
        label = spellings.label(row, key)
        if texts is not None and label is None:
            intake.tally.count_skipped_item("no label", key)
        return None if texts is None or label is None else (texts[0], label, split)

    read = intake.read(source, ["text", "label", "split"], parse, SmallestHashSample(None, seed))
    labels = spellings.unify_label_spellings((label for _, (_, label, _) in read), intake)
    taken = [(key, (text, label, split)) for (key, (text, _, split)), label in zip(read, labels, strict=True)]
    train, test = (_read_classification_side(taken, side, limit, seed, source, intake) for side in (TRAIN, TEST))
    trained = set(train.labels)
    if len(trained) < 2:
        raise DataError(
            "the training texts have only one label", path=source.path, expected="two or more labels",
            found=train.labels[0],
            mend="Check the label and split columns (--map label=COLUMN), and that --limit is not too small."
        )  # fmt: skip
    for key, label in zip(test.ids, test.labels, strict=True):
        if label not in trained:
            intake.tally.count_warned_item("test texts with a label that no training text has", f"{key}: {label}")
    return Classification(train, test)


def _read_classification_side(
    taken: list[tuple[str, Labelled]],
    side: str,
    limit: int | None,
    seed: int,
    source: RowSource,
    intake: SkipRecordingReader,
) -> LabelledTexts:
    rows = [(key, text, label) for key, (text, label, split) in taken if split == side]
    if not rows:
        reasons = ", ".join(skip.reason for skip in intake.tally.skipped())
        raise DataError(
            f"the split {side!r} has no usable rows", path=source.path,
            expected="a split column with train or test", found=reasons or f"{len(taken)} of the other",
            mend="Pass the test split with --split; the training split must be called train."
        )  # fmt: skip
    chosen = draw_stratified([key for key, _, _ in rows], [label for _, _, label in rows], limit, seed)
    ids, texts, labels = zip(*(rows[k] for k in chosen), strict=True)
    intake.note_odd_texts(ids, texts)
    return LabelledTexts(ids, texts, labels, ("",) * len(ids))


PAIRED = {"text": "paraphrases", "text2": "paraphrases2"}
"""Column of a text -> the column of its paraphrases."""


def read_paraphrases(
    source: RowSource, intake: SkipRecordingReader, limit: int | None, seed: int
) -> TextsWithParaphrases:
    """Each text once with its other wordings; rows of blank texts and texts without a wording are skipped.

    A row with `text2` and `paraphrases2` gives two texts. DataError for a text that comes again with others.
    """
    wordings_of: dict[str, tuple[str, ...]] = {}
    draw = SmallestHashSample[tuple[str, tuple[str, ...]]](limit, seed)
    for row, text, wordings in _read_rows_with_wordings(source, intake):
        if text in wordings_of:
            # The same sentence in two pairs is common (STS); which of two sets of wordings holds, nobody could say.
            if wordings_of[text] != wordings:
                raise_or_collect_fault(_make_differing_paraphrases_error(row, text))
            continue
        wordings_of[text] = wordings
        draw.offer_item(text, (text, wordings))
    if not wordings_of:
        raise make_no_usable_rows_error(
            source, sum(skip.count for skip in intake.tally.skipped()), intake.tally.skipped()
        )
    texts, rest = zip(*draw.list_drawn_items(), strict=True)
    return TextsWithParaphrases(texts, rest)


def _read_rows_with_wordings(
    source: RowSource, intake: SkipRecordingReader
) -> Iterator[tuple[SourceRow, str, tuple[str, ...]]]:
    columns = {text: others for text, others in PAIRED.items() if others in source.columns()}
    lang = ("lang",) if "lang" in source.columns() else ()
    for row in source.rows(drop_repeated_columns((*columns, *columns.values(), *lang))):
        for column, others in columns.items():
            try:
                text = read_text_cell(row, column)
                wordings = tuple(wording for wording in read_text_list_cell(row, others) if wording)
            except DataError as error:
                raise_or_collect_fault(error)
                continue
            if text is None or not wordings:
                intake.tally.count_skipped_item(f"no {column if text is None else others}", f"line {row.line}")
                continue
            intake.note_row_language(row)
            yield row, text, wordings


def _make_differing_paraphrases_error(row: SourceRow, text: str) -> DataError:
    return DataError(
        f"the text {text[:40]!r} appeared earlier with different paraphrases", path=row.path, line=row.line,
        mend="Use the same paraphrases wherever a text appears."
    )  # fmt: skip
