"""What work will take before it is done, by doing it in vain: texts, tokens, requests, money, time and disk.

A protocol says which texts a system will be asked for, call by call; everything else is here. Nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import (
    CellPartExecutor,
    Encoder,
    Kind,
    RankedCandidates,
    RemoteEncoder,
    Role,
    ShardedCorpusSearcher,
    Tokenizer,
)
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.runs.memory import format_memory_size as size_in_words
from embassay.runs.memory import read_promised_memory
from embassay.runs.spending import format_dollars

COUNTED, SAMPLED = 20_000, 200
"""Texts of a call whose tokens are counted where they cost money, and where they do not; the rest goes by length."""
ANSWER_SECONDS, AT_ONCE = 0.5, 16
"""What is assumed of a server that nobody has measured."""
LOCAL_READ, LOCAL_WRITTEN, LOCAL_ENCODED = 100, 15, 1_000
"""Tokens a second of one on this machine, which answers one request at a time: what a small model on a processor reads
and writes of chat, and what an encoder there encodes."""


@dataclass(frozen=True)
class CellForecast:
    """One task on one dataset with one system.

    `texts` are the distinct ones of every call, of which `cached` need no work; `tokens` are those of the rest,
    counted with the system's own tokenizer and all of them where `exact`. A dataset that is not `fetched` is reckoned
    by the catalogue's figures. `requests` is None for a system that sends none, `usd` None where the price is
    not known. `seconds` are measured, or `assumed`, or None. `memory_bytes` are what a process will hold
    at most while it does this; 0 where that was not estimated.
    """

    task: str
    dataset: str
    system: str
    items: int
    texts: int
    tokens: int
    cached: int = 0
    requests: int | None = None
    usd: float | None = 0.0
    seconds: float | None = 0.0
    disk_bytes: int = 0
    exact: bool = False
    assumed: bool = False
    memory_bytes: int = 0
    fetched: bool = True


def sum_cell_forecasts(system: str, cells: Iterable[CellForecast]) -> CellForecast:
    """The forecast of all of a system's cells together."""
    total = CellForecast("", "", system, 0, 0, 0, exact=True)
    for cell in cells:
        sent = None if cell.requests is None else cell.requests + (total.requests or 0)
        total = replace(
            total,
            items=total.items + cell.items,
            texts=total.texts + cell.texts,
            tokens=total.tokens + cell.tokens,
            cached=total.cached + cell.cached,
            requests=sent,
            usd=None if total.usd is None or cell.usd is None else total.usd + cell.usd,
            seconds=None if total.seconds is None or cell.seconds is None else total.seconds + cell.seconds,
            disk_bytes=total.disk_bytes + cell.disk_bytes,
            # A worker's cells run one after another.
            memory_bytes=max(total.memory_bytes, cell.memory_bytes),
            exact=total.exact and cell.exact,
            assumed=total.assumed or cell.assumed,
            fetched=total.fetched and cell.fetched,
        )
    return total


@dataclass(frozen=True)
class RunForecast:
    """The forecast of a run; `notes` say what it leaves out."""

    cells: tuple[CellForecast, ...]
    notes: tuple[str, ...] = ()

    def sum_forecasts_by_system(self) -> tuple[CellForecast, ...]:
        """One sum per system, in the order of the run."""
        names = dict.fromkeys(cell.system for cell in self.cells)
        return tuple(sum_cell_forecasts(name, [cell for cell in self.cells if cell.system == name]) for name in names)

    @property
    def seconds(self) -> float:
        """All cells one after another, as far as it is known."""
        return sum(cell.seconds or 0.0 for cell in self.cells)

    @property
    def usd(self) -> float | None:
        """All that is to be paid; None if a price is not known."""
        return sum_cell_forecasts("", self.cells).usd

    def as_dict(self) -> dict[str, Any]:
        """For `--json` and the manifest."""
        systems = [asdict(forecast) for forecast in self.sum_forecasts_by_system()]
        return {
            "cells": [asdict(cell) for cell in self.cells],
            "systems": [{k: v for k, v in system.items() if k not in ("task", "dataset")} for system in systems],
            "seconds": self.seconds,
            "usd": self.usd,
            **({"notes": list(self.notes)} if self.notes else {}),
        }


@dataclass(frozen=True)
class WorkCostForecast:
    """What work of `total` like parts will cost, by the first `done` of them: dollars so far, expected in all, and the
    95% interval of that."""

    done: int
    total: int
    usd: float
    expected: float
    low: float
    high: float

    def format_cost_forecast_line(self, most: float | None = None) -> str:
        """A line of it, and where a limit of `most` dollars will end the work."""
        line = (
            f"{self.done:,} of {self.total:,} cost {format_dollars(self.usd)}; expected total: "
            f"{format_dollars(self.expected)} ({format_dollars(self.low)} to {format_dollars(self.high)})"
        )
        if most is None or self.high <= most:
            return line
        reached = round(self.total * most / self.expected) if self.expected else self.total
        about = f"about {min(reached, self.total):,}"
        return f"{line}. The limit of {format_dollars(most)} may stop the run after {about}"


def forecast_cost_of_remaining_parts(costs: Sequence[float], total: int, usd: float) -> WorkCostForecast:
    """Of `total` parts, the first of which cost `usd` dollars. `costs` are those of the answers to each, as far
    as they can be told apart: they say how much parts vary."""
    done = len(costs)
    rest, expected = max(total - done, 0), usd * total / done
    mean = float(np.mean(costs))
    # One part does not tell how much they vary: then by as much as their mean.
    spread = float(np.std(costs, ddof=1)) / mean if done > 1 and mean else 1.0
    # Of the sum of what is left, whose mean is itself known from `done` parts only.
    error = 1.96 * spread * usd / done * np.sqrt(rest * (1 + rest / done))
    return WorkCostForecast(done, total, usd, expected, max(usd, expected - float(error)), expected + float(error))


@dataclass(frozen=True)
class EncoderWorkload:
    """What an encoder has to do: `texts` asked for, of which `cached` are kept already; for the others `tokens`
    and `chunks`; `exact` where every token was counted with the encoder's own tokenizer."""

    texts: int = 0
    cached: int = 0
    tokens: int = 0
    chunks: int = 0
    exact: bool = True

    def __add__(self, other: EncoderWorkload) -> EncoderWorkload:
        return EncoderWorkload(
            self.texts + other.texts, self.cached + other.cached, self.tokens + other.tokens,
            self.chunks + other.chunks, self.exact and other.exact
        )  # fmt: skip


class EncoderWorkloadCounter:
    """Adds up what calls of one encoder will need, never the same chunk twice.

    `tokenizer` counts where the encoder's own is not at hand. `seen` are the chunks planned so far; systems that
    differ only in what is done to the same vectors share them when they share the set.
    """

    def __init__(
        self, encoder: Encoder, cache: EmbeddingCache, tokenizer: Tokenizer, seen: set[bytes] | None = None
    ) -> None:
        native = getattr(encoder, "tokenizer", None)
        # A library's own tokenizer object, under the same name, counts in another way.
        native = native if hasattr(native, "identity") else None
        self.encoder = encoder
        self._tokenizer, self._own = native or tokenizer, native is not None
        self._sample = COUNTED if hasattr(encoder, "encode_chunks") else SAMPLED
        self._cached = CachedEncoder(encoder, cache)
        self._seen = set() if seen is None else seen
        self._so_far = EncoderWorkload()

    @property
    def chunk_size(self) -> int:
        """Texts per chunk."""
        return self._cached.chunk_size

    def hear(self, texts: Sequence[str], role: Role | None) -> None:
        """The encoder will be asked for these texts together."""
        fresh: list[str] = []
        chunks = 0
        for key, chunk in self._cached.missing(texts, role=role):
            if key not in self._seen:
                # The first cell that asks pays; the next finds it in the cache.
                self._seen.add(key)
                fresh += chunk
                chunks += any(chunk)
        tokens, counted = count_tokens_by_sample(
            fresh, self._tokenizer, most=self.encoder.max_tokens, sample=self._sample
        )
        distinct = len(set(texts))
        self._so_far += EncoderWorkload(distinct, distinct - len(fresh), tokens, chunks, counted and self._own)

    def take_new_workload(self) -> EncoderWorkload:
        """What was heard since the last time."""
        need, self._so_far = self._so_far, EncoderWorkload()
        return need


def count_tokens_by_sample(
    texts: Sequence[str], tokenizer: Tokenizer, *, most: int | None = None, sample: int = SAMPLED
) -> tuple[int, bool]:
    """The tokens of the texts together, at most `most` of each, and whether all of them were counted: of more than
    `sample` texts every so many is, and the others count by their characters."""
    step = -(-len(texts) // sample) or 1
    # Every so many, not the first ones: corpora are often ordered by source or length.
    sampled = list(texts[::step])
    counts = (len(ids) for ids in tokenizer.encode_batch(sampled))
    counted = sum(min(count, most) if most else count for count in counts)
    if step == 1:
        return counted, True
    # By characters, not by texts: a few long documents hold most of the tokens.
    share = sum(map(len, sampled)) / max(1, sum(map(len, texts)))
    return round(counted / share) if share else counted, False


def find_remote_encoder(system: object) -> RemoteEncoder | None:
    """The encoder behind a server that is inside `system`; None where all is done on this machine."""
    part = getattr(system, "encoder", None)
    while part is not None and not hasattr(part, "encode_chunks"):
        part = getattr(part, "encoder", None)
    return cast("RemoteEncoder | None", part)


def estimate_server_seconds(model: RemoteEncoder, requests: int, tokens: int, written: int | None = None) -> float:
    """How long a server takes, by the declared limits and what is assumed of its answers; of the tokens a chat model
    has `written` so many."""
    limits = ((requests, model.rpm), (tokens, model.tpm))
    by_limits = [60 * amount / limit for amount, limit in limits if limit]  # limits are per minute
    if getattr(model, "is_local", False) and not by_limits:
        if written is None:
            return tokens / LOCAL_ENCODED
        return (tokens - written) / LOCAL_READ + written / LOCAL_WRITTEN
    return max([requests * ANSWER_SECONDS / AT_ONCE, *by_limits])


def build_forecast_table(forecasts: RunForecast) -> tuple[list[str], list[list[str]]]:
    """Columns and rows for the terminal, what matters most first: a narrow screen hides the last."""
    titles = [
        "task", "dataset", "system", "time", "cost", "tokens", "requests", "texts", "kept", "items", "disk", "memory"
    ]  # fmt: skip
    return titles, [
        [cell.task, cell.dataset, cell.system,
         "?" if cell.seconds is None else f"{cell.seconds:,.1f} s", format_dollars(cell.usd),
         ("" if cell.exact else "~") + f"{cell.tokens:,}", "" if cell.requests is None else f"{cell.requests:,}",
         f"{cell.texts:,}", f"{cell.cached:,}", f"{cell.items:,}",
         f"{cell.disk_bytes / 1e6:,.1f} MB", size_in_words(cell.memory_bytes) if cell.memory_bytes else ""]
        for cell in forecasts.cells
    ]  # fmt: skip


def describe_forecasts(forecasts: RunForecast) -> Iterator[str]:
    """Describe what is left out, the sums, each system that sends requests, and what they rest on."""
    yield from forecasts.notes
    paid = [forecast for forecast in forecasts.sum_forecasts_by_system() if forecast.requests is not None]
    for forecast in paid:
        about = "" if forecast.exact else "about "
        yield (
            f"{forecast.system}: {forecast.requests or 0:,} requests, {about}{forecast.tokens:,} tokens, "
            + (f"{about}{format_dollars(forecast.usd)}." if forecast.usd is not None else "price unknown: give price=.")
        )
    disk = sum(cell.disk_bytes for cell in forecasts.cells) / 1e6
    free = "$0: every system runs here" if forecasts.cells else "$0"
    money = f"{format_dollars(forecasts.usd)} in all" if paid else free
    yield (
        f"{len(forecasts.cells)} cells, about {forecasts.seconds:,.0f} s on one worker, at most {disk:,.0f} MB "
        f"of embeddings, {money}."
    )
    if most := max((cell.memory_bytes for cell in forecasts.cells), default=0):
        yield from _describe_cell_memory_and_limit(most)
    if paid:
        yield (
            f"Nothing was sent. A server's time is based on its rpm and tpm if given, and otherwise on "
            f"{ANSWER_SECONDS} s per request with {AT_ONCE} requests at once. For a server on this machine, "
            f"it is based on {LOCAL_READ} tokens read and {LOCAL_WRITTEN} written per second, one request at "
            "a time (a small model on a CPU; a GPU is faster). Retries take extra time. The run updates the "
            "estimate after its first ten answers."
        )


def _describe_cell_memory_and_limit(most: int) -> Iterator[str]:
    """Describe what memory a cell holds at most, and whether that is what was promised."""
    promised = read_promised_memory()
    holds = f"A cell uses at most {size_in_words(most)} of memory"
    if promised is None:
        yield f"{holds}, by estimate."
    elif most <= promised:
        yield f"{holds}, by estimate. This is within the limit of {size_in_words(promised)}."
    else:
        yield f"{holds}, by estimate. Cells that exceed the limit of {size_in_words(promised)} will fail."


Hear = Callable[[Sequence[str], Role | None], None]


class CallRecordingSimilarity(ShardedCorpusSearcher):
    """Stands in for an embedding model compared by cosine: `hear` gets the texts and the role of every call that
    its encoder would get. All texts are equally similar."""

    name = identity = "rehearsal"
    kind: Kind = "embedding"

    def __init__(self, hear: Hear) -> None:
        self.hear = hear

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Zeros, (n,)."""
        self.hear(a, None)
        self.hear(b, None)
        return np.zeros(len(a), dtype=np.float32)

    def compare_indexed_pairs(
        self, texts: Sequence[str], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Zeros, (n,)."""
        self.hear(texts, None)
        return np.zeros(np.broadcast_shapes(left.shape, right.shape), dtype=np.float32)

    def vectors(self, texts: Sequence[str], role: Role | None = None) -> NDArray[np.float32]:
        """Zeros of one dimension, (n, 1): little work for what learns from them."""
        self.hear(texts, role)
        return np.zeros((len(texts), 1), dtype=np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Zeros, condensed."""
        self.hear(texts, None)
        return np.zeros(len(texts) * (len(texts) - 1) // 2, dtype=np.float32)

    def search_shards(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        k: int,
        *,
        spread: CellPartExecutor | None = None,  # noqa: ARG002 - nothing is searched
    ) -> Iterator[RankedCandidates]:
        """The first k texts of each shard."""
        self.hear(queries, "query")
        for shard in shards:
            self.hear(shard, "document")
            first = np.full((len(queries), k), -1, dtype=np.int64)
            first[:, : len(shard)] = np.arange(min(k, len(shard)))
            yield RankedCandidates(first, np.where(first < 0, -np.inf, 0.0))
