"""What a plan takes before it is carried out: every task is rehearsed, and the texts it asks for are counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from semblance.contracts import Encoder, Similarity, Tokenizer
from semblance.errors import ModelError
from semblance.protocols import opening
from semblance.protocols.planning import PlannedSystem, PlannedTask
from semblance.protocols.sage import work
from semblance.protocols.sage.context import Context
from semblance.protocols.sage.plan import Plan
from semblance.protocols.sage.tasks import TASK_NAMES
from semblance.records import Loaded
from semblance.runs.forecast import (
    Forecast,
    Forecasts,
    Need,
    Needs,
    remote_seconds,
    tokens_of,
)
from semblance.text import open_tokenizer

Probe = list[str]
PROBE = 24
"""Texts used to measure a system's speed."""
LENGTHS = {"robustness": 7.0, "sensitivity": 1 + 3 * (1.15 + 1.5 + 2) + 3 * (0.85 + 0.5 + 0.1),
           "retrieval": 7 + 3 * (1.15 + 1.5) + 3 * (0.85 + 0.5)}  # fmt: skip
"""Tokens of all versions of a document together, in units of the original's; other tasks see it once."""


@dataclass(frozen=True)
class _Task:
    """A task on a dataset, with what its texts come to."""

    planned: PlannedTask
    dataset: str
    loaded: Loaded[Any]
    texts: Sequence[str]
    queries: Sequence[str]
    tokens: int


def forecast(plan: Plan, *, measure: bool = True) -> Forecasts:
    """The cost of every cell, in the order of the plan.

    With `measure`, systems on this machine are timed on a few texts, for which they are loaded here.
    """
    return Forecasts(tuple(_Forecaster(plan, measure).cells()))


class _Forecaster:
    """Rehearses each task once for all encoders, and times everything else on a few texts."""

    def __init__(self, plan: Plan, measure: bool) -> None:
        request = plan.request
        self.plan, self.measure = plan, measure
        self.tokenizer: Tokenizer = open_tokenizer(request.tokenizer)
        self.systems: dict[str, Similarity] = {
            one.name: opening.describe(one.spec, self.tokenizer, request.seed)
            for one in plan.systems
            if one.remote is None
        }
        cache, seen = opening.open_cache(plan.cells[0].job.cache), set[bytes]()
        self.needs = {
            one.name: Needs(one.remote or _innermost(self.systems[one.name]), cache, self.tokenizer, seen)
            for one in plan.systems
            if one.kind == "embedding"
        }
        self.speed: dict[str, float | None] = {}

    def cells(self) -> Iterator[Forecast]:
        for name in TASK_NAMES:
            for dataset in self.plan.datasets:
                for planned in dataset.tasks:
                    if planned.task == name:
                        one = self._task(planned, dataset.name, dataset.source)
                        needs = self._rehearsed(one)
                        for system in self.plan.systems:
                            yield self._cell(one, system, needs)

    def _task(self, planned: PlannedTask, dataset: str, source: str) -> _Task:
        request = self.plan.request
        loaded = work.load(planned.task, request.dataset(source), request.limit, request.seed)
        fields = work.task(planned.task).fields(loaded.data)
        first = {"retrieval": "document", "preference": "source"}.get(planned.task, "text")
        texts, queries = fields[first][1], fields.get("query", ((), ()))[1]
        tokens, _ = tokens_of(texts, self.tokenizer)
        return _Task(planned, dataset, loaded, texts, queries, round(tokens * LENGTHS.get(planned.task, 1.0)))

    def _rehearsed(self, one: _Task) -> dict[str, Need]:
        """What each encoder needs for the task."""
        if not self.needs:
            return {}

        def hear(texts: Sequence[str], role: Any) -> None:
            for need in self.needs.values():
                need.hear(texts, role)

        request = self.plan.request
        context = Context(one.loaded.dataset, self.tokenizer, request.seed, request.options)
        try:
            heard = work.rehearse(one.planned.task, one.loaded.data, context, hear)
        except Exception:  # a plan must not stop a run; the cell itself will say what is wrong
            heard = False
        taken = {name: need.taken() for name, need in self.needs.items()}
        if heard:
            return taken
        # The task's versions are estimated from the originals.
        return {name: self._scaled(one, need) for name, need in self.needs.items()}

    def _scaled(self, one: _Task, needs: Needs) -> Need:
        texts = one.planned.texts
        return Need(texts, 0, one.tokens, -(-texts // needs.chunk_size), exact=False)

    def _cell(self, one: _Task, system: PlannedSystem, needs: dict[str, Need]) -> Forecast:
        head = Forecast(
            one.planned.task, one.dataset, system.name, one.planned.n, one.planned.texts, one.tokens
        )
        if (need := needs.get(system.name)) is None:
            return replace(head, seconds=self._seconds(self.systems[system.name], one))
        done = replace(
            head,
            texts=need.texts,
            cached=need.cached,
            tokens=need.tokens,
            exact=need.exact,
            disk_bytes=4 * (need.texts - need.cached) * _dim(self.needs[system.name].encoder),
        )
        if system.remote is None:
            speed = self._speed(system.name, one) if need.tokens else 0.0
            return replace(done, seconds=None if speed is None else need.tokens * speed)
        price = system.remote.price
        return replace(
            done,
            requests=need.chunks,
            usd=None if price is None else need.tokens * price / 1e6,
            seconds=remote_seconds(system.remote, need.chunks, need.tokens),
            assumed=True,
        )

    def _speed(self, name: str, one: _Task) -> float | None:
        """Seconds per token of an encoder on this machine, measured once."""
        if name not in self.speed:
            encoder = self.needs[name].encoder
            self.speed[name] = self._slope(
                lambda probe: partial(encoder.encode, probe),
                lambda probe: tokens_of(probe, self.tokenizer, most=encoder.max_tokens)[0],
                [_probe(one.texts, size) for size in (2, PROBE)],
            )
        return self.speed[name]

    def _seconds(self, system: Similarity, one: _Task) -> float | None:
        """How long a system without vectors takes."""
        if one.planned.task == "retrieval":
            return self._search_seconds(system, one)
        probes = [_probe(one.texts, size) for size in (PROBE, 6 * PROBE)]
        if one.planned.task == "clustering":
            each = self._slope(
                lambda probe: partial(system.distances, probe), lambda probe: len(probe) ** 2, probes
            )
            return None if each is None else each * len(one.texts) ** 2
        each = self._slope(lambda probe: partial(system.pairs, probe, probe[::-1]), len, probes)
        return None if each is None else each * one.planned.texts

    def _search_seconds(self, system: Similarity, one: _Task) -> float | None:
        """The time that every text takes, and the time of every text for every query."""
        corpus = _probe(one.texts, 24 * PROBE)
        probes = [_probe(one.queries, size) for size in (1, PROBE)]
        each = self._slope(lambda queries: partial(system.search, queries, corpus, 10), len, probes)
        alone = self._slope(
            lambda texts: partial(system.search, probes[0], texts, 10), len, [corpus[:PROBE], corpus]
        )
        if each is None or alone is None:
            return None
        return one.planned.texts * (alone + each / len(corpus) * len(one.queries))

    def _slope(
        self,
        work: Callable[[Probe], Callable[[], Any]],
        units: Callable[[Probe], int],
        probes: Sequence[Probe],
    ) -> float | None:
        """Seconds per unit of work, from a small probe to a larger one, so that what every call costs does not
        count; None for a system that fails: its cells will say why."""
        if not self.measure:
            return None
        times = []
        try:
            work(probes[0])()
            for probe in probes:
                # The faster of two: whatever else the machine does can only slow a probe down.
                times.append(min(_timed(work(probe)) for _ in range(2)))
        except Exception:
            return None
        small, large = map(units, probes)
        if large > small and times[1] > times[0]:
            return (times[1] - times[0]) / (large - small)
        return times[1] / max(1, large)


def _innermost(system: Any) -> Encoder:
    """The encoder below whatever is done to its vectors: what the cache keeps."""
    while hasattr(system, "encoder") and not hasattr(system, "encode_chunks"):
        system = system.encoder
    return system  # type: ignore[no-any-return]


def _dim(encoder: Encoder) -> int:
    """The dimensions of what is kept; 0 where only a request could tell."""
    try:
        return encoder.dim
    except ModelError:
        return 0


def _timed(call: Callable[[], Any]) -> float:
    """Seconds of the clock or of the processor, whichever are fewer: other work on the machine does not count."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return min(time.perf_counter() - wall, time.process_time() - processor)


def _probe(texts: Sequence[str], size: int) -> Probe:
    return list(texts[:: max(1, len(texts) // size)][:size])
