"""What evaluating systems takes before it is done: calls, tokens, time, and the memory its work will hold.

Each figure counts the arrays that are there at once where the work holds most, as they were found by measuring
(docs/memory.md); windows of constant size are in `PROGRAM`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from embassay.contracts import Encoder, Similarity, Tokenizer
from embassay.errors import ModelError
from embassay.protocols.kernel.inputs import open_embedding_cache, open_uncached_system
from embassay.protocols.kernel.plan import PlannedSystem
from embassay.runs.forecast import (
    CellForecast,
    EncoderWorkload,
    EncoderWorkloadCounter,
    Hear,
    count_tokens_by_sample,
    estimate_server_seconds,
)
from embassay.runs.memory import WorkMemoryEstimate, measure_resident_memory

Probe = list[str]
PROBE = 24
"""Texts used to measure a system's speed."""
MEASURED = 2.0
"""Seconds that measuring a slow system takes, about."""
TRIFLE = 1.0
"""Seconds of a task that are not worth measuring, where a metric says itself what a token takes at most."""
PARTNERS = 100
"""Texts that a token is compared with in the time that reading it takes."""


@dataclass(frozen=True)
class TaskWorkloadForForecast:
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
    footprint: Callable[[Similarity], WorkMemoryEstimate] | None = None


class TaskCostForecaster:
    """Rehearses each task once for all encoders, and times everything else on a few texts."""

    def __init__(
        self, systems: Sequence[PlannedSystem], tokenizer: Tokenizer, seed: int, cache: Path | None, *, measure: bool
    ) -> None:
        self.planned, self.tokenizer, self.measure = systems, tokenizer, measure
        self.systems: dict[str, Similarity] = {
            system.name: open_uncached_system(system.spec, tokenizer, seed)
            for system in systems
            if system.remote is None
        }
        opened, seen = open_embedding_cache(cache), set[bytes]()
        asked = {
            system.name: system.remote or _find_inner_encoder(self.systems[system.name])
            for system in systems
            if system.kind == "embedding"
        }
        # An ensemble has encoders, and is none: it is timed as a whole.
        self.needs = {
            name: EncoderWorkloadCounter(encoder, opened, tokenizer, seen)
            for name, encoder in asked.items()
            if hasattr(encoder, "encode")
        }
        self.speed: dict[str, float | None] = {}

    def cells(self, work: TaskWorkloadForForecast) -> Iterator[CellForecast]:
        """The forecast cost of the work for every system, in their order."""
        needs = self._estimate_workload_per_encoder(work)
        for system in self.planned:
            yield self._forecast_cell(work, system, needs)

    def _estimate_workload_per_encoder(self, work: TaskWorkloadForForecast) -> dict[str, EncoderWorkload]:
        """What each encoder needs for the work."""
        if not self.needs:
            return {}
        first = self._rehearse_encoder_workloads(work, work.rehearse)
        if work.again is None:
            return first
        round_ = self._rehearse_encoder_workloads(work, work.again)
        return {name: _add_repeated_round_workloads(round_[name], work.rounds, need) for name, need in first.items()}

    def _rehearse_encoder_workloads(
        self, work: TaskWorkloadForForecast, rehearse: Callable[[Hear], bool]
    ) -> dict[str, EncoderWorkload]:
        def add_encoder_call_to_forecast_needs(texts: Sequence[str], role: Any) -> None:
            for need in self.needs.values():
                need.hear(texts, role)

        try:
            heard = rehearse(add_encoder_call_to_forecast_needs)
        except Exception:  # a plan must not stop a run; the cell itself will say what is wrong
            heard = False
        taken = {name: need.take_new_workload() for name, need in self.needs.items()}
        if heard:
            return taken
        # The task's versions are estimated from the originals.
        return {
            name: EncoderWorkload(work.texts, 0, work.tokens, -(-work.texts // need.chunk_size), exact=False)
            for name, need in self.needs.items()
        }

    def _forecast_cell(
        self, work: TaskWorkloadForForecast, system: PlannedSystem, needs: dict[str, EncoderWorkload]
    ) -> CellForecast:
        head = CellForecast(
            work.task, work.dataset, system.name, work.items, work.texts, work.tokens,
            memory_bytes=self._estimate_memory(work, system)
        )  # fmt: skip
        if (need := needs.get(system.name)) is None:
            seconds = self._estimate_seconds_of_vectorless_system(self.systems[system.name], work)
            return replace(head, seconds=None if seconds is None else seconds * (1 + work.rounds))
        done = replace(
            head,
            texts=need.texts,
            cached=need.cached,
            tokens=need.tokens,
            exact=need.exact,
            disk_bytes=4 * (need.texts - need.cached) * _count_encoder_dimensions(self.needs[system.name].encoder),
        )
        if system.remote is None:
            speed = self._measure_seconds_per_token(system.name, work) if need.tokens else 0.0
            return replace(done, seconds=None if speed is None else need.tokens * speed)
        price = system.remote.price
        return replace(
            done,
            requests=need.chunks,
            usd=None if price is None else need.tokens * price / 1e6,
            seconds=estimate_server_seconds(system.remote, need.chunks, need.tokens),
            assumed=True,
        )

    def _estimate_memory(self, work: TaskWorkloadForForecast, system: PlannedSystem) -> int:
        """What this process would hold at most if it did the work; 0 where that is not estimated."""
        opened = self.systems.get(system.name)
        if work.footprint is None or opened is None:
            return 0
        return (measure_resident_memory() or 0) + work.footprint(opened).bytes

    def _measure_seconds_per_token(self, name: str, work: TaskWorkloadForForecast) -> float | None:
        """Seconds per token of an encoder on this machine, measured once."""
        if name not in self.speed:
            encoder = self.needs[name].encoder
            self.speed[name] = self._measure_seconds_per_unit(
                lambda probe: partial(encoder.encode, probe),
                lambda probe: count_tokens_by_sample(probe, self.tokenizer, most=encoder.max_tokens)[0],
                [_sample_probe_texts(work.examples, size) for size in (2, PROBE)],
            )
        return self.speed[name]

    def _estimate_seconds_of_vectorless_system(self, system: Similarity, work: TaskWorkloadForForecast) -> float | None:
        """How long a system without vectors takes for one round."""
        if (trifle := _estimate_seconds_of_small_work(system, work)) is not None:
            return trifle
        if work.kind == "search":
            return self._measure_search_seconds_per_text(system, work)
        probes = [_sample_probe_texts(work.examples, size) for size in (PROBE, 6 * PROBE)]
        if work.kind == "distances":
            slope = self._measure_seconds_per_unit(
                lambda probe: partial(system.distances, probe), lambda probe: len(probe) ** 2, probes
            )
            return None if slope is None else slope * len(work.examples) ** 2
        slope = self._measure_seconds_per_unit(lambda probe: partial(system.pairs, probe, probe[::-1]), len, probes)
        return None if slope is None else slope * work.texts

    def _measure_search_seconds_per_text(self, system: Similarity, work: TaskWorkloadForForecast) -> float | None:
        """The time that every text takes, and the time of every text for every query."""
        corpus = _sample_probe_texts(work.examples, 24 * PROBE)
        probes = [_sample_probe_texts(work.queries, size) for size in (1, PROBE)]
        slope = self._measure_seconds_per_unit(lambda queries: partial(system.search, queries, corpus, 10), len, probes)
        alone = self._measure_seconds_per_unit(
            lambda texts: partial(system.search, probes[0], texts, 10), len, [corpus[:PROBE], corpus]
        )
        if slope is None or alone is None:
            return None
        # The slope per query was taken with the probe's corpus: divided by its texts, it is that of a pair.
        return work.texts * (alone + slope / len(corpus) * len(work.queries))

    def _measure_seconds_per_unit(
        self, work: Callable[[Probe], Callable[[], Any]], units: Callable[[Probe], int], probes: Sequence[Probe]
    ) -> float | None:
        """Seconds per unit of work, from a small probe to a larger one, so that what every call costs does not
        count; None for a system that fails: its cells will say why."""
        if not self.measure:
            return None
        small, large = probes
        try:
            work(small)()
            # The faster of two: whatever else the machine does can only slow a probe down.
            first = min(_time_call(work(small)) for _ in range(2))
            # Fewer texts of a slow system say as much.
            large = large[: max(4, round(MEASURED / max(first, 1e-9))) * len(small)]
            second = _time_call(work(large))
            if second < MEASURED:
                second = min(second, _time_call(work(large)))
        except Exception:
            return None
        if units(large) > units(small) and second > first:
            return (second - first) / (units(large) - units(small))
        return second / max(1, units(large))


def _estimate_seconds_of_small_work(system: Similarity, work: TaskWorkloadForForecast) -> float | None:
    """The time of a little work by what the metric says of itself: loading its machine code takes longer. None for more
    work, and for a metric that says nothing."""
    slope: float | None = getattr(system, "seconds_per_token", None)
    if slope is None:
        return None
    partners = {"pairs": 0, "distances": len(work.examples), "search": len(work.queries)}[work.kind]
    seconds = slope * work.tokens * (1 + partners / PARTNERS)
    return seconds if seconds < TRIFLE else None


def _add_repeated_round_workloads(need: EncoderWorkload, rounds: int, first: EncoderWorkload) -> EncoderWorkload:
    """A first round, and `rounds` others that need as much as `need` each."""
    if not rounds:
        return first
    return first + EncoderWorkload(
        need.texts * rounds, need.cached * rounds, need.tokens * rounds, need.chunks * rounds, exact=False
    )


def _find_inner_encoder(system: Any) -> Encoder:
    """The encoder below whatever is done to its vectors: what the cache keeps."""
    while hasattr(system, "encoder") and not hasattr(system, "encode_chunks"):
        system = system.encoder
    return system  # type: ignore[no-any-return]


def _count_encoder_dimensions(encoder: Encoder) -> int:
    """The values of a text that are kept; 0 where only a request could tell."""
    try:
        return int(getattr(encoder, "floats", encoder.dim))
    except ModelError:
        return 0


def _time_call(call: Callable[[], Any]) -> float:
    """Seconds of the clock or of the processor, whichever are fewer: other work on the machine does not count."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return min(time.perf_counter() - wall, time.process_time() - processor)


def _sample_probe_texts(texts: Sequence[str], size: int) -> Probe:
    return list(texts[:: max(1, len(texts) // size)][:size])


PROGRAM, WINDOWS = 384 * 2**20, 96 * 2**20
"""What a process holds once all libraries are loaded (numba, scipy, the model's), and what comes on top of it: windows
of search and distances, and memory that is free and was not given back."""
_SAMPLED = 1000
_COPIES = 4
"""As the encoder gives them, in the order of the texts, at length 1, and one on the way."""
_REMEMBERED = 600
"""Bytes of the tables that find a text's vector again: by the text, by its place, and what Python needs for a row."""
_PER_CHARACTER = 20
"""Bytes of tokens, of their bags and of the indices over these, for each character of a text."""


def sum_memory_footprint(parts: Mapping[str, int], mend: str) -> WorkMemoryEstimate:
    """Sum a work's parts, and what every work takes: libraries to load, and windows."""
    libraries = max(0, PROGRAM - (measure_resident_memory() or 0))
    return WorkMemoryEstimate({**parts, "the program": libraries + WINDOWS}, mend)


def choose_largest_footprint(needs: Iterable[WorkMemoryEstimate]) -> WorkMemoryEstimate:
    """Choose the memory footprint that is largest."""
    return max(needs, key=lambda need: need.bytes, default=WorkMemoryEstimate())


def count_vector_dimensions(system: Similarity) -> int:
    """Of the vectors that its encoder gives, before any transform, or values of a text that has many vectors; 0 for a
    system without, and where only a request could tell."""
    part: Any = getattr(system, "encoder", None)
    most = 0
    while part is not None:
        with suppress(AttributeError, ModelError):
            most = max(most, int(getattr(part, "floats", part.dim)))
        part = getattr(part, "encoder", None)
    return most


def vector_bytes(texts: int, dim: int) -> int:
    """The bytes of so many vectors while they are encoded and compared."""
    return _COPIES * 4 * texts * dim


def pairwise_distance_bytes(texts: int) -> int:
    """The bytes of the distances between every two texts, held once."""
    return 2 * texts * (texts - 1)


def estimate_bytes_of_cached_vectors(texts: int, dim: int) -> int:
    """The bytes of so many vectors when encoded, remembered by their texts, and compared."""
    return vector_bytes(texts, dim) + texts * (4 * dim + _REMEMBERED)


def estimate_reading_bytes(texts: Sequence[str], copies: int = 3) -> int:
    """What the texts take while they are worked on: what lies in a file is read as often as it is asked for, and
    `copies` of it are there at once; what is in memory is there already."""
    return 0 if isinstance(texts, tuple | list) else copies * estimate_text_memory_bytes(texts)


def estimate_text_memory_bytes(texts: Sequence[str], n: int | None = None) -> int:
    """The bytes of `n` texts (by default all) as Python's strings, by a sample."""
    n = len(texts) if n is None else n
    return round(1.25 * n * _mean_size(sys.getsizeof(text) + 8 for text in sample_texts_evenly(texts)))


def estimate_token_bytes_of_texts(texts: Sequence[str], n: int | None = None) -> int:
    """The bytes of `n` texts (by default all) as tokens and bags of tokens."""
    n = len(texts) if n is None else n
    return round(1.25 * n * _PER_CHARACTER * _mean_size(map(len, sample_texts_evenly(texts))))


def replicate_bytes(items: int, columns: int, resamples: int) -> int:
    """The bytes of the values of items, and of their bootstrap replicates."""
    return 4 * 8 * columns * (items + resamples)


def sample_texts_evenly(texts: Sequence[str]) -> list[str]:
    """Every so many of the texts, 1,000 at most."""
    return [texts[i] for i in range(0, len(texts), max(1, -(-len(texts) // _SAMPLED)))]


def _mean_size(sizes: Iterable[int]) -> float:
    every = list(sizes)
    return sum(every) / max(1, len(every))
