"""The corpora of task 5: every version of a corpus in fixed shards, each made when it is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from embassay.protocols.sage.context import Context
from embassay.protocols.sage.edits import Edit, retrieval_edits, with_options
from embassay.records import Documents
from embassay.search.blocks import cut


@dataclass(frozen=True)
class Shard(Sequence[str]):
    """Some documents under one edit, or as they are. It holds its texts from the first look on, and pickles without
    them."""

    ids: Sequence[str]
    originals: Sequence[str]
    edit: Edit | None

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: Any) -> Any:
        return self._texts[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Shard, (self.ids, self.originals, self.edit)

    @cached_property
    def _texts(self) -> Sequence[str]:
        return self.originals if self.edit is None else self.edit(self.originals, self.ids)


class Corpora(Sequence[Shard]):
    """The shards of the clean corpus, then those of each perturbed version of it."""

    def __init__(self, corpus: Documents, context: Context) -> None:
        self._corpus, self._cuts = corpus, cut(len(corpus))
        self.edits = retrieval_edits(context)
        self._made = (None, *(with_options(edit, context) for edit in self.edits))
        self._advance = context.advance

    @property
    def versions(self) -> int:
        """The clean corpus is one of them."""
        return len(self._made)

    @property
    def shards(self) -> int:
        """Of each version."""
        return len(self._cuts)

    @property
    def offsets(self) -> list[int]:
        """The row of the first document of each shard of a version."""
        return [part.start for part in self._cuts]

    def __len__(self) -> int:
        return self.versions * self.shards

    def __iter__(self) -> Iterator[Shard]:
        """Each shard in turn; when the next is asked for, the one before is done."""
        for index in range(len(self)):
            yield self[index]
            self._advance(len(self[index]))

    def __getitem__(self, index: int) -> Shard:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(index)
        version, place = divmod(index, self.shards)
        part = self._cuts[place]
        return Shard(self._corpus.ids[part], self._corpus.texts[part], self._made[version])
