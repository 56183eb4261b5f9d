"""The texts of a page: excerpts, each kept once, and what was judged read from the run folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.parquet import read_parquet
from embassay.report.items.groups import Group
from embassay.report.record import Record
from embassay.runs.folder import RunFolder

LENGTHS = {
    "text": 500,
    "source": 500,
    "summary": 400,
    "first": 400,
    "second": 400,
    "document": 240,
    "query": 400,
}
SHORT = 200


class Excerpts:
    """Excerpts by number; a text has one, as long as the longest that was asked for, but never over `longest`
    characters. `cut` holds the full length of those that were shortened."""

    def __init__(self, longest: int = 10**9) -> None:
        self.longest = longest
        self.is_short = longest < min(LENGTHS.values())
        self.texts: list[str] = []
        self.cut: dict[int, int] = {}
        self._places: dict[str, int] = {}

    def add(self, text: str, most: int) -> int:
        """The number of the excerpt of `text`: at least its first `most` characters, or up to a space near there."""
        excerpt = shortened(text, min(most, self.longest))
        place = self._places.setdefault(text, len(self.texts))
        if place == len(self.texts):
            self.texts.append("")
        if len(excerpt) > len(self.texts[place]):
            self.texts[place] = excerpt
            self.cut.pop(place, None)
            if len(excerpt) < len(text):
                self.cut[place] = len(text)
        return place

    def packed(self) -> dict[str, list[Any]]:
        """The texts sorted, so that those that begin alike stand together and compress well, and the place of each."""
        order = sorted(range(len(self.texts)), key=lambda place: self.texts[place])
        places = {place: i for i, place in enumerate(order)}
        return {"texts": [self.texts[i] for i in order], "places": [places[i] for i in range(len(order))]}


def shortened(text: str, most: int) -> str:
    """The beginning of a text, ended at a space if one is near.

    >>> shortened("one two three", 9), shortened("one", 9)
    ('one two', 'one')
    """
    if len(text) <= most:
        return text
    space = text.rfind(" ", most * 2 // 3, most)
    return text[: space if space > 0 else most]


class Judged:
    """What a task judged on a dataset: texts by field and item."""

    def __init__(self, folder: RunFolder, task: str, dataset: str) -> None:
        self._fields: dict[str, dict[str, str]] = {}
        path = folder.texts_path(task, dataset)
        if not path.exists():
            return
        frame = read_parquet(path, ["item_id", "field", "text"])
        for (field,), part in frame.group_by(["field"], maintain_order=True):
            self._fields[str(field)] = dict(
                zip(part["item_id"].to_list(), part["text"].to_list(), strict=True)
            )

    def text(self, field: str, item: str) -> str | None:
        """The text, None where the run kept none."""
        return self._fields.get(field, {}).get(item)

    def items(self, field: str) -> Iterable[str]:
        """The items that have the field, in their order."""
        return self._fields.get(field, {})


Part = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Where the parts of a group's items come from; `ids` are the items that go into the page."""

    record: Record
    folder: RunFolder
    group: Group
    ids: Sequence[str]
    judged: Judged
    excerpts: Excerpts

    def texts(self, field: str) -> list[int]:
        """The excerpt of each item's field, by number."""
        return [self.excerpts.add(self.judged.text(field, item) or "", LENGTHS[field]) for item in self.ids]
