"""Doing the cells of a run, and the parts of a cell, with what is finished kept whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

from embassay.contracts import Encoder, Spread
from embassay.runs.cells import Cell, CellRecord
from embassay.runs.engines.attempts import InThisProcess
from embassay.runs.engines.contract import Engine, Listener, Ray, Work, Workers, crew
from embassay.runs.folder import RunFolder

__all__ = ["Crew", "Listener"]

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


_NONE: Mapping[str, str] = {}


class Crew:
    """Who does the cells of a run: an engine that is opened when there is work for it, and serves until `close`.
    `files` are read by the cells: the machines of a cluster must see them; `identities` of the systems, by name, are
    what they must be there."""

    def __init__(
        self,
        workers: Workers,
        folder: RunFolder,
        files: Sequence[Path] = (),
        identities: Mapping[str, str] = _NONE,
    ) -> None:
        self.chosen, self._folder = crew(workers), folder
        self._files, self._identities = files, identities
        self._facts: dict[str, Any] = {}
        self._held = ExitStack()
        self._cluster: Engine | None = None

    def do(
        self, cells: Sequence[Cell], work: Work, listener: Listener, remote: Work | None = None
    ) -> Iterator[CellRecord]:
        """Do the cells and yield each one's record as it ends, in any order.

        Cells that wait for a server come last, so that what is free is done when the money ends, and always in this
        process, where `remote` keeps the accounts: many of their calls are in flight at once anyway. BudgetExceeded
        ends the run.
        """
        if free := [cell for cell in cells if not cell.remote]:
            with closing(self._engine(len(free)).do(free, work, listener)) as done:  # type: ignore[type-var]
                yield from done
        paid = [cell for cell in cells if cell.remote]
        yield from InThisProcess(self._folder).do(paid, remote or work, listener)

    def close(self) -> None:
        """Leave the cluster, or stop it where it was started for the run."""
        self._cluster = None
        self._held.close()

    @property
    def told(self) -> dict[str, Any]:
        """What a manifest says of the engine: its name, and of a cluster what it offered."""
        chosen = self.chosen
        if isinstance(chosen, Ray):
            return {"name": chosen.name, "address": chosen.address, **self._facts}
        return {"name": chosen.name, "workers": chosen.count}

    @property
    def workers(self) -> int:
        """Cells that are done side by side; 0 where that is not known yet."""
        return self._facts.get("cpus", 0) if isinstance(self.chosen, Ray) else self.chosen.count

    def _engine(self, cells: int) -> Engine:
        chosen = self.chosen
        if isinstance(chosen, Ray):
            if self._cluster is None:
                from embassay.runs.cluster.engine import over_ray

                cluster = self._held.enter_context(
                    over_ray(chosen, self._folder, self._files, self._identities)
                )
                self._cluster, self._facts = cluster, cluster.facts
            return self._cluster
        if chosen.count == 1 or cells == 1:
            return InThisProcess(self._folder)
        from embassay.runs.engines.processes import InProcesses

        return InProcesses(self._folder, chosen.count)
