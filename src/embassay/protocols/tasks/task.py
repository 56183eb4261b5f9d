"""What a PTEB task is: the texts that are paraphrased, the data with other wordings, and the evaluation of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from embassay.contracts import Similarity
from embassay.protocols.kernel import inputs as context
from embassay.protocols.kernel.forecast import (
    dimensions,
    distances,
    footprint,
    replicates,
    text_bytes,
    token_bytes,
    vectors,
)
from embassay.protocols.tasks.options import PtebOptions
from embassay.records import LabelledTexts, Loaded, RetrievalSet, Skipped, TaskOutcome
from embassay.runs.memory import Footprint

if TYPE_CHECKING:
    from embassay.data import Dataset

Wording = Callable[[str, str], str | None]
"""From a text's place and the text to its other wording; None where there is none. A place says which text of
which item it is, `first:ID`, `candidate:ID:3`; places of one dataset in one shape are distinct."""


@dataclass(frozen=True)
class Reworded:
    """A dataset before and after paraphrasing, item by item the same: what has no other wording is in neither.

    `kept` and `items` count items (pairs, texts, queries ...); `lost` says what was left out, by kind.
    """

    original: Any
    paraphrased: Any
    kept: int
    items: int
    lost: tuple[Skipped, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing was left out, so that `original` is all of the data."""
        return not self.lost


@dataclass(frozen=True)
class Task:
    """One task. A dataset joins when it has all columns of at least one of the `shapes`.

    `evaluate` gives an outcome whose headline row (measure = `headline`, no variant) has its component of that name
    with bootstrap replicates drawn per item (`context.stream`), so that two systems, or the same items in two wordings,
    are paired. `texts` are the (place, text) of every text that is paraphrased, in the order of the data;
    `reword` applies a wording to them, and `unworded` are the beginnings of the places whose texts keep their own words
    under these options. `vectors` says that an encoder's vectors are needed and another method
    stands in for systems that have none (design.md, similarity-only systems).
    """

    name: str
    title: str
    shapes: tuple[str, ...]
    headline: str
    evaluate: Callable[[Similarity, Any, Context], TaskOutcome]
    load: Callable[[Dataset, int | None, int], Loaded[Any]]
    texts: Callable[[Any], Iterator[tuple[str, str]]]
    reword: Callable[[Any, Wording], Reworded]
    size: Callable[[Any], int] = len
    vectors: bool = False
    unworded: Callable[[PtebOptions], tuple[str, ...]] = lambda _: ()


T = TypeVar("T")
WITHOUT_WORDING = "without a usable paraphrase"
_EXAMPLES = 5

Place = tuple[str, str]
"""A place and its text."""


def places(kind: str, ids: Sequence[str], texts: Sequence[str]) -> Iterator[Place]:
    """The place `KIND:ID` of each text."""
    return ((f"{kind}:{one}", text) for one, text in zip(ids, texts, strict=True))


def several_places(kind: str, ids: Sequence[str], texts: Sequence[Sequence[str]]) -> Iterator[Place]:
    """The place `KIND:ID:NUMBER` of each of the texts that an item has."""
    for one, group in zip(ids, texts, strict=True):
        yield from ((f"{kind}:{one}:{number}", text) for number, text in enumerate(group))


def numbered(ids: Sequence[str], texts: Sequence[Sequence[str]]) -> list[str]:
    """`ID:NUMBER` of each of the texts that an item has."""
    return [f"{one}:{number}" for one, group in zip(ids, texts, strict=True) for number in range(len(group))]


def reworded(place: Iterable[Place], wording: Wording) -> list[str | None]:
    """The other wording of every text."""
    return [wording(where, text) for where, text in place]


@dataclass(frozen=True)
class Groups:
    """The texts of every item, and their other wordings where they have one."""

    noun: str
    ids: Sequence[str]
    before: Sequence[Sequence[str]]
    after: Sequence[Sequence[str | None]]

    @classmethod
    def of(
        cls, kind: str, noun: str, ids: Sequence[str], texts: Sequence[Sequence[str]], wording: Wording
    ) -> Groups:
        """The texts at the places `KIND:ID:NUMBER`, called `noun` in the plural, with their wordings."""
        said = [
            reworded(several_places(kind, (one,), (group,)), wording)
            for one, group in zip(ids, texts, strict=True)
        ]
        return cls(noun, ids, texts, said)

    @property
    def kept(self) -> list[list[int]]:
        """The numbers of the texts of each item that have another wording."""
        return [[i for i, text in enumerate(group) if text is not None] for group in self.after]

    def lost(self) -> tuple[Skipped, ...]:
        """The texts without one, as left out."""
        flat = [text for group in self.after for text in group]
        kept = [row for row, text in enumerate(flat) if text is not None]
        return without_wording(self.noun, numbered(self.ids, self.before), kept)


def reworded_pairs(data: Any, wording: Wording) -> Reworded:
    """Pairs (`ids`, `first`, `second` and one array more) with both texts paraphrased; a pair needs both."""
    first = reworded(places("first", data.ids, data.first), wording)
    second = reworded(places("second", data.ids, data.second), wording)
    rows = [row for row, pair in enumerate(zip(first, second, strict=True)) if None not in pair]
    return rows_reworded(data, {"first": first, "second": second}, rows, "pairs")


def rows_reworded(data: Any, texts: dict[str, list[str | None]], rows: Sequence[int], noun: str) -> Reworded:
    """These rows of a record of columns, with `texts` in place of the columns so called."""
    whole = len(rows) == len(data)
    original = data if whole else rows_of(data, rows)
    said = {name: tuple(column[row] for row in rows) for name, column in texts.items()}
    lost = without_wording(noun, data.ids, rows)
    return Reworded(original, replace(original, **said), len(rows), len(data), lost)


def rows_of(data: Any, rows: Sequence[int]) -> Any:
    """These rows of a record whose fields are tuples or arrays of one length, or None."""
    return replace(data, **{name: _taken(column, rows) for name, column in vars(data).items()})


def without_wording(noun: str, ids: Sequence[str], kept: Iterable[int]) -> tuple[Skipped, ...]:
    """The rows that are not kept, as left out for want of a wording."""
    return left_out(f"{noun} {WITHOUT_WORDING}", ids, kept)


def left_out(reason: str, ids: Sequence[str], kept: Iterable[int]) -> tuple[Skipped, ...]:
    """The rows that are not kept, as left out for a reason; nothing where all are."""
    known = set(kept)
    gone = [one for row, one in enumerate(ids) if row not in known]
    return (Skipped(reason, len(gone), tuple(gone[:_EXAMPLES])),) if gone else ()


def _taken(column: Any, rows: Sequence[int]) -> Any:
    if isinstance(column, np.ndarray):
        return column[list(rows)]
    return None if column is None else tuple(column[row] for row in rows)


@dataclass(frozen=True)
class Context(context.Context):
    """The seed (of everything but paraphrasing), the run's tokenizer and the options; `dataset` names the random
    streams, and is followed by the language where a dataset has several."""

    options: PtebOptions = field(default_factory=PtebOptions)

    @property
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""
        return self.options.resamples


_KEPT = 2
"""Vectors of the texts as they are are remembered beside those of a run's paraphrases."""


def needed(system: Similarity, data: Any, worded: Sequence[str], resamples: int) -> Footprint:
    """The estimate for one system on one part of a dataset, of which `worded` are the texts that are reworded."""
    corpus: Sequence[str] = data.corpus.texts if isinstance(data, RetrievalSet) else ()
    n, dim = len(worded) + len(corpus), dimensions(system)
    parts = {
        "texts": 3 * text_bytes(worded) + text_bytes(corpus),
        "replicates": replicates(len(worded), 8, resamples),
    }
    if dim:
        parts["vectors"] = _KEPT * vectors(n, dim)
    else:
        parts["tokens"] = 2 * (token_bytes(worded) + token_bytes(corpus))
        if isinstance(data, LabelledTexts):
            largest = max(Counter(data.sets).values(), default=0)
            parts[f"the distances of {largest:,} texts"] = distances(largest)
    return footprint(parts, "Use fewer items (--limit).")
