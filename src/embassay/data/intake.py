"""The usable rows of a source: every id checked, every row left out counted and shown by examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from embassay.data.column import LONG_TEXT, SeenIds
from embassay.data.rows import (
    RowSource,
    SourceRow,
    raise_or_collect_fault,
    read_label_cell,
    read_row_id,
    read_text_cell,
)
from embassay.data.views import SmallestHashSample, drop_repeated_columns
from embassay.errors import DataError
from embassay.records import SkippedItems

if TYPE_CHECKING:
    from langcodes import Language

EXAMPLES = 3


class ReasonTally:
    """Counts by reason, in the order the reasons first came up."""

    def __init__(self) -> None:
        self._skipped: dict[str, list[str]] = {}
        self._noted: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def count_skipped_item(self, reason: str, item: str) -> None:
        """Count `item` as left out for `reason`."""
        self._count_reason(self._skipped, reason, item)

    def count_warned_item(self, reason: str, item: str) -> None:
        """Count `item` as kept, but worth a warning."""
        self._count_reason(self._noted, reason, item)

    def add_earlier_counts(self, skipped: Iterable[SkippedItems] = (), noted: Iterable[SkippedItems] = ()) -> None:
        """Count what was counted before: items left out, and items kept with a warning."""
        for kind, counted in ((self._skipped, skipped), (self._noted, noted)):
            for skip in counted:
                self._counts[skip.reason] = self._counts.get(skip.reason, 0) + skip.count
                examples = kind.setdefault(skip.reason, [])
                examples.extend(skip.examples[: EXAMPLES - len(examples)])

    def skipped(self) -> tuple[SkippedItems, ...]:
        """What was left out."""
        return tuple(
            SkippedItems(reason, self._counts[reason], tuple(items)) for reason, items in self._skipped.items()
        )

    def warnings(self) -> tuple[str, ...]:
        """What was kept with a warning: `reason: count (examples)`."""
        return tuple(f"{reason}: {self._counts[reason]} ({', '.join(items)})" for reason, items in self._noted.items())

    def _count_reason(self, kind: dict[str, list[str]], reason: str, item: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        examples = kind.setdefault(reason, [])
        if len(examples) < EXAMPLES:  # all are counted, a few shown
            examples.append(item)


T = TypeVar("T")


class SkipRecordingReader:
    """Reads sources, and remembers what was left out, what is odd, and the languages seen."""

    def __init__(self, settings: Mapping[str, Any] = MappingProxyType({})) -> None:
        """`settings` is what besides the bytes decides what is read: see `Dataset`."""
        self.settings = settings
        self.tally = ReasonTally()
        self.langs: set[str] = set()

    def read(
        self,
        source: RowSource,
        columns: Iterable[str],
        parse: Callable[[SourceRow, str], T | None],
        draw: SmallestHashSample[tuple[str, T]],
    ) -> list[tuple[str, T]]:
        """The drawn (id, parsed row) of all rows for which `parse(row, id)` gives something.

        A source without ids numbers its rows from 1. DataError for an id that appears twice and when no row
        is usable.
        """
        ids, usable = SeenIds(), 0
        for key, item in self.iterate_parsed_usable_rows(source, columns, parse, ids):
            usable += 1
            draw.offer_item(key, (key, item))
        if not usable:
            raise make_no_usable_rows_error(source, ids.count, self.tally.skipped())
        return draw.list_drawn_items()

    def iterate_parsed_usable_rows(
        self, source: RowSource, columns: Iterable[str], parse: Callable[[SourceRow, str], T | None], seen: SeenIds
    ) -> Iterator[tuple[str, T]]:
        """The (id, parsed row) of all rows for which `parse(row, id)` gives something, in file order.

        Ids are noted in `seen`, and the languages of these rows in `langs`.
        """
        has_ids, has_langs = "id" in source.columns(), "lang" in source.columns()
        names = drop_repeated_columns((*columns, *(["id"] if has_ids else []), *(["lang"] if has_langs else [])))
        for number, row in enumerate(source.rows(names), 1):
            try:
                # Numbers are of all rows, so that an id does not depend on what was skipped before it.
                key = read_row_id(row, "id") if has_ids else str(number)
                seen.add(number, key, row)
                item = parse(row, key)
            except DataError as error:
                raise_or_collect_fault(error)
                continue
            if item is not None:
                self.note_row_language(row)
                yield key, item

    def draw_usable_items(
        self,
        source: RowSource,
        items: Iterable[tuple[str, T]],
        is_usable: Callable[[str, T], bool],
        draw: SmallestHashSample[tuple[str, T]],
    ) -> list[tuple[str, T]]:
        """The drawn ones of the usable among items put together from rows. DataError when none is usable."""
        usable = 0
        for key, item in items:
            if is_usable(key, item):
                usable += 1
                draw.offer_item(key, (key, item))
        if not usable:
            skipped = self.tally.skipped()
            raise make_no_usable_rows_error(source, sum(skip.count for skip in skipped), skipped)
        return draw.list_drawn_items()

    def texts(self, row: SourceRow, key: str, *columns: str) -> tuple[str, ...] | None:
        """The texts of these columns; None, and the row is counted, where one is missing or blank."""
        found: list[str] = []
        for column in columns:
            text = read_text_cell(row, column)
            if text is None:
                self.tally.count_skipped_item(f"no {column}", key)
                return None
            found.append(text)
        return tuple(found)

    def note_odd_texts(self, ids: Iterable[str], texts: Iterable[str], what: str = "text") -> None:
        """Warn of very long texts and of texts that are there more than once; `what` they are, for the warning."""
        earlier: set[str] = set()
        for key, text in zip(ids, texts, strict=True):
            if len(text) > LONG_TEXT:
                self.tally.count_warned_item(f"texts longer than {LONG_TEXT:,} characters", key)
            if text and text in earlier:  # blank ones are counted as such where they are kept
                self.tally.count_warned_item(f"repeats of an earlier {what}", key)
            earlier.add(text)

    def note_row_language(self, row: SourceRow) -> None:
        """Remember the language of a row that is used."""
        if lang := read_label_cell(row, "lang"):
            self.langs.add(lang)


def collect_ids_and_text_columns(
    taken: list[tuple[str, tuple[str, ...]]], width: int
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The ids, and `width` columns of texts, of rows that were read."""
    ids = tuple(key for key, _ in taken)
    return ids, [tuple(texts[i] for _, texts in taken) for i in range(width)]


def make_no_usable_rows_error(source: RowSource, count: int, skipped: tuple[SkippedItems, ...]) -> DataError:
    """The error for a source with no usable row, with the reasons."""
    reasons = "; ".join(f"{skip.reason}: {skip.count}" for skip in skipped)
    return DataError(
        "there are no rows below the header" if not count else "no row can be used",
        path=source.path,
        expected="at least one usable row",
        found=reasons or f"{count} rows",
        mend="Fill the column, or choose another with --map. `embassay data check` shows the rows.",
    )


def choose_dataset_language(langs: set[str], declared: str = "") -> str:
    """The declared language, else the only one seen, `mul` for several and `und` for none (ISO 639-2).

    >>> choose_dataset_language({"en"}), choose_dataset_language({"en", "fr"}), choose_dataset_language(set())
    ('en', 'mul', 'und')
    """
    if declared:
        return declared
    return "mul" if len(langs) > 1 else next(iter(langs), "und")


def find_language_by_code(code: str) -> Language:
    """The language that a code of ISO 639 or a tag of BCP 47 names, by its shortest code; `und` for what names none.

    >>> str(find_language_by_code("deu")), str(find_language_by_code("fil")), str(find_language_by_code("Deutsch"))
    ('de', 'fil', 'und')
    """
    from langcodes import Language

    try:
        return Language.get(code)
    except ValueError:
        return Language.get("und")
