"""What a PTEB task is: the texts that are paraphrased, the data with other wordings, and the evaluation of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embassay.contracts import Similarity
from embassay.records import Loaded, Skipped, TaskOutcome

if TYPE_CHECKING:
    from embassay.data import Dataset
    from embassay.protocols.pteb.context import Context
    from embassay.protocols.pteb.options import PtebOptions

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
