"""The parts of a cell done in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from embassay.contracts import Encoder, Spread

A = TypeVar("A")
B = TypeVar("B")


class Here:
    """No spreading at all: the next part is done when what came before it was taken."""

    def map(self, work: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]:
        """The builtin."""
        return map(work, items)

    def encoder(self, encoder: Encoder, made: Callable[[], Encoder]) -> Encoder:
        """The encoder itself."""
        del made
        return encoder

    def opened(self, made: Callable[[], Encoder], accelerated: bool, /) -> None:
        """It is opened here."""
        del made, accelerated

    def cache(self, opened: Callable[[], A], /) -> A:
        """What `opened` opens."""
        return opened()


HERE: Spread = Here()
