"""What evaluating systems takes before it is done: every task is rehearsed, and the texts it asks for are counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from embassay.contracts import Encoder, Similarity, Tokenizer
from embassay.errors import ModelError
from embassay.protocols.opening import describe, open_cache
from embassay.protocols.planning import PlannedSystem
from embassay.runs.forecast import Forecast, Hear, Need, Needs, remote_seconds, tokens_of
from embassay.runs.memory import Footprint, resident

Probe = list[str]
PROBE = 24
"""Texts used to measure a system's speed."""
TRIFLE = 1.0
"""Seconds of a task that are not worth measuring, where a metric says itself what a token takes at most."""
PARTNERS = 100
"""Texts that a token is compared with in the time that reading it takes."""


@dataclass(frozen=True)
class Work:
    """A task on a dataset, as its cost sees it.

    `rehearse` tells of the calls of an encoder, or gives False where there are too many to count: then `texts` and
    `tokens` stand for them. `again` are the calls of one further round on other texts, which is done `rounds` times.
    A system without vectors takes time by `kind`: for every text a pair; for every two texts (`distances`); or for
    every text and each of `queries` (`search`). `examples` are texts to measure its speed on. `footprint` says what a
    system will hold in memory beside what it takes itself.
    """

    task: str
    dataset: str
    items: int
    texts: int
    tokens: int
    rehearse: Callable[[Hear], bool]
    examples: Sequence[str]
    queries: Sequence[str] = ()
    kind: Literal["pairs", "distances", "search"] = "pairs"
    again: Callable[[Hear], bool] | None = None
    rounds: int = 0
    footprint: Callable[[Similarity], Footprint] | None = None


class Forecaster:
    """Rehearses each task once for all encoders, and times everything else on a few texts."""

    def __init__(
        self,
        systems: Sequence[PlannedSystem],
        tokenizer: Tokenizer,
        seed: int,
        cache: Path | None,
        *,
        measure: bool,
    ) -> None:
        self.planned, self.tokenizer, self.measure = systems, tokenizer, measure
        self.systems: dict[str, Similarity] = {
            one.name: describe(one.spec, tokenizer, seed) for one in systems if one.remote is None
        }
        opened, seen = open_cache(cache), set[bytes]()
        self.needs = {
            one.name: Needs(one.remote or _innermost(self.systems[one.name]), opened, tokenizer, seen)
            for one in systems
            if one.kind == "embedding"
        }
        self.speed: dict[str, float | None] = {}

    def cells(self, work: Work) -> Iterator[Forecast]:
        """The cost of the work for every system, in their order."""
        needs = self._needed(work)
        for system in self.planned:
            yield self._cell(work, system, needs)

    def _needed(self, work: Work) -> dict[str, Need]:
        """What each encoder needs for the work."""
        if not self.needs:
            return {}
        first = self._heard(work, work.rehearse)
        if work.again is None:
            return first
        round_ = self._heard(work, work.again)
        return {name: _times(round_[name], work.rounds, need) for name, need in first.items()}

    def _heard(self, work: Work, rehearse: Callable[[Hear], bool]) -> dict[str, Need]:
        def hear(texts: Sequence[str], role: Any) -> None:
            for need in self.needs.values():
                need.hear(texts, role)

        try:
            heard = rehearse(hear)
        except Exception:  # a plan must not stop a run; the cell itself will say what is wrong
            heard = False
        taken = {name: need.taken() for name, need in self.needs.items()}
        if heard:
            return taken
        # The task's versions are estimated from the originals.
        return {
            name: Need(work.texts, 0, work.tokens, -(-work.texts // need.chunk_size), exact=False)
            for name, need in self.needs.items()
        }

    def _cell(self, work: Work, system: PlannedSystem, needs: dict[str, Need]) -> Forecast:
        head = Forecast(
            work.task, work.dataset, system.name, work.items, work.texts, work.tokens,
            memory_bytes=self._memory(work, system),
        )  # fmt: skip
        if (need := needs.get(system.name)) is None:
            seconds = self._seconds(self.systems[system.name], work)
            return replace(head, seconds=None if seconds is None else seconds * (1 + work.rounds))
        done = replace(
            head,
            texts=need.texts,
            cached=need.cached,
            tokens=need.tokens,
            exact=need.exact,
            disk_bytes=4 * (need.texts - need.cached) * _dim(self.needs[system.name].encoder),
        )
        if system.remote is None:
            speed = self._speed(system.name, work) if need.tokens else 0.0
            return replace(done, seconds=None if speed is None else need.tokens * speed)
        price = system.remote.price
        return replace(
            done,
            requests=need.chunks,
            usd=None if price is None else need.tokens * price / 1e6,
            seconds=remote_seconds(system.remote, need.chunks, need.tokens),
            assumed=True,
        )

    def _memory(self, work: Work, system: PlannedSystem) -> int:
        """What this process would hold at most if it did the work; 0 where that is not estimated."""
        opened = self.systems.get(system.name)
        if work.footprint is None or opened is None:
            return 0
        return (resident() or 0) + work.footprint(opened).bytes

    def _speed(self, name: str, work: Work) -> float | None:
        """Seconds per token of an encoder on this machine, measured once."""
        if name not in self.speed:
            encoder = self.needs[name].encoder
            self.speed[name] = self._slope(
                lambda probe: partial(encoder.encode, probe),
                lambda probe: tokens_of(probe, self.tokenizer, most=encoder.max_tokens)[0],
                [_probe(work.examples, size) for size in (2, PROBE)],
            )
        return self.speed[name]

    def _seconds(self, system: Similarity, work: Work) -> float | None:
        """How long a system without vectors takes for one round."""
        if (trifle := _trifle(system, work)) is not None:
            return trifle
        if work.kind == "search":
            return self._search_seconds(system, work)
        probes = [_probe(work.examples, size) for size in (PROBE, 6 * PROBE)]
        if work.kind == "distances":
            each = self._slope(
                lambda probe: partial(system.distances, probe), lambda probe: len(probe) ** 2, probes
            )
            return None if each is None else each * len(work.examples) ** 2
        each = self._slope(lambda probe: partial(system.pairs, probe, probe[::-1]), len, probes)
        return None if each is None else each * work.texts

    def _search_seconds(self, system: Similarity, work: Work) -> float | None:
        """The time that every text takes, and the time of every text for every query."""
        corpus = _probe(work.examples, 24 * PROBE)
        probes = [_probe(work.queries, size) for size in (1, PROBE)]
        each = self._slope(lambda queries: partial(system.search, queries, corpus, 10), len, probes)
        alone = self._slope(
            lambda texts: partial(system.search, probes[0], texts, 10), len, [corpus[:PROBE], corpus]
        )
        if each is None or alone is None:
            return None
        return work.texts * (alone + each / len(corpus) * len(work.queries))

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


def _trifle(system: Similarity, work: Work) -> float | None:
    """The time of a little work by what the metric says of itself: loading its machine code takes longer. None for more
    work, and for a metric that says nothing."""
    each: float | None = getattr(system, "seconds_per_token", None)
    if each is None:
        return None
    partners = {"pairs": 0, "distances": len(work.examples), "search": len(work.queries)}[work.kind]
    seconds = each * work.tokens * (1 + partners / PARTNERS)
    return seconds if seconds < TRIFLE else None


def _times(need: Need, rounds: int, first: Need) -> Need:
    """A first round, and `rounds` others that need as much as `need` each."""
    if not rounds:
        return first
    return first + Need(
        need.texts * rounds, need.cached * rounds, need.tokens * rounds, need.chunks * rounds, exact=False
    )


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
