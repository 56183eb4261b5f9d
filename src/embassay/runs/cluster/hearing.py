"""How far the cells of a cluster are: they tell the desk, and the driver asks it now and then.

Calls of the desk overtake one another, and those of a machine that is lost may come after those of the next, so each
says which attempt at the cell it is of, and no order is relied on.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from embassay.runs.cells import Cell
from embassay.runs.cluster.pulse import left_alone
from embassay.runs.engines.contract import Listener

_PATIENCE = 5.0
"""Seconds that the driver waits for an answer, before it looks whether there is still a cluster."""


@dataclass(frozen=True)
class Advance:
    """Tells the desk what a cell has done, from any process that works for it: it pickles. 0 says that it has begun."""

    desk: Any
    key: str
    attempt: str = field(default_factory=lambda: secrets.token_hex(8))

    def __call__(self, texts: int) -> None:
        self.desk.hear.remote(self.key, self.attempt, texts)


class Ears:
    """Tells the listener what the cells have told the desk."""

    def __init__(self, ray: Any, desk: Any, cells: Sequence[Cell], listener: Listener) -> None:
        self._ray, self._desk, self._listener = ray, desk, listener
        self._cells = {cell.key: cell for cell in cells}
        self._attempts: dict[str, list[str]] = {}
        self._texts: dict[str, int] = {}
        self._asked: Any = None

    def listen(self) -> None:
        """Hear what there is to hear; where the desk does not answer, that is heard later."""
        self._asked = self._asked or self._desk.heard.remote()
        if not self._ray.wait([self._asked], timeout=_PATIENCE)[0]:
            return
        asked, self._asked = self._asked, None
        try:
            heard = self._ray.get(asked)
        except self._ray.exceptions.RayError as error:
            # The desk is started anew, unless its machine is gone: this one.
            raise left_alone() from error
        for key, attempt, texts in heard:
            self.hear(key, attempt, texts)

    def forget(self, cell: Cell) -> None:
        """It has ended: what is still said of it counts nothing."""
        del self._cells[cell.key]

    def hear(self, key: str, attempt: str, texts: int) -> None:
        """Tell the listener of one message: the first of a cell begins it, the first of another attempt takes back what
        a lost machine had done of it, and the last words of that machine count nothing."""
        cell, attempts = self._cells.get(key), self._attempts.setdefault(key, [])
        if cell is None or attempt in attempts[:-1]:
            return
        if not attempts:
            self._listener.started(cell)
        elif attempt != attempts[-1]:
            self._listener.advanced(cell, -self._texts[key])
        if attempt not in attempts:
            attempts.append(attempt)
            self._texts[key] = 0
        if texts:
            self._texts[key] += texts
            self._listener.advanced(cell, texts)
