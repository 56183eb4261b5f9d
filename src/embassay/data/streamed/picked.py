"""Some texts of a column, by their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from embassay.data.streamed.column import TextColumn, equal


class Picked(Sequence[str]):
    """The texts at `places` (k,) of a column, in that order: what a limit leaves of a large corpus."""

    __slots__ = ("_column", "_places")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, column: TextColumn, places: NDArray[np.int64]) -> None:
        self._column, self._places = column, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return Picked(self._column, self._places[index].copy())
        return self._column[int(self._places[range(len(self))[index]])]

    def __iter__(self) -> Iterator[str]:
        return (self._column[place] for place in map(int, self._places))

    def __eq__(self, other: object) -> bool:
        return bool(same) if (same := equal(self, other)) is not NotImplemented else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return Picked, (self._column, self._places)

    def __repr__(self) -> str:
        return f"Picked({self._column!r}, {len(self)} texts)"
