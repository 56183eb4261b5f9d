"""What a sweep will take, before anything is computed: combinations, texts, pairs, money, time, disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from embassay.contracts import Similarity
from embassay.errors import EmbassayError
from embassay.protocols.footprint import largest
from embassay.protocols.forecasting import Forecaster
from embassay.protocols.forecasting import Work as Effort
from embassay.protocols.rag.sweep.collection import Collection, token_lengths
from embassay.protocols.rag.sweep.configuration import NONE, Configuration
from embassay.protocols.rag.sweep.footprint import Room
from embassay.protocols.rag.sweep.parts import Parts
from embassay.protocols.rag.sweep.plan import SweepPlan, plan_of
from embassay.protocols.rag.sweep.prices import PriceList, asks_a_server, price_list
from embassay.protocols.rag.sweep.request import SweepRequest
from embassay.runs.forecast import Forecast, Forecasts
from embassay.runs.promise import Footprint
from embassay.systems import sized
from embassay.systems.remote import NoCalls
from embassay.systems.rerankers import RERANKERS

_SAMPLE = 16
_NAMED = 6
"""So many combinations are named for each reason that leaves some out."""
_LISTED_BYTES = 20
"""Of a document in a ranking on disk, and of a value per query, compressed."""


@dataclass(frozen=True)
class SweepForecast:
    """The forecast of embedding and reranking, a cell per dataset and model, with the combinations behind it."""

    combinations: int
    senseless: int
    indexes: int
    work: Forecasts
    disk_bytes: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The reason why a combination makes no sense, by its id."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {**self.work.as_dict(), **{key: value for key, value in asdict(self).items() if key != "work"}}

    def in_words(self) -> Iterator[str]:
        """What is measured, and what the times do not hold."""
        yield (
            f"{self.combinations:,} combinations on {self.indexes:,} indexes ({self.senseless:,} make no sense and are "
            f"left out), at most {self.disk_bytes / 1e6:,.0f} MB of results."
        )
        by_reason: dict[str, list[str]] = {}
        for id, reason in self.left_out.items():
            by_reason.setdefault(reason, []).append(id)
        for reason, ids in by_reason.items():
            more = f" and {len(ids) - _NAMED:,} more (all with --json)" if len(ids) > _NAMED else ""
            yield f"Left out, for {reason}: {', '.join(ids[:_NAMED])}{more}."
        yield (
            "The time is that of encoding and scoring, timing included; building indexes and searching come on top. "
            "Pairs are an estimate: how many of them stacks share is known when they are found."
        )


def forecast_of(request: SweepRequest, ledger: NoCalls) -> SweepForecast:
    """What a request takes on an empty folder, less the vectors that the cache has; nothing is sent."""
    prices = price_list(request)
    parts = Parts(request, ledger)
    plan = plan_of(parts)
    cells = [*_encoding(plan, parts), *_reranking(plan, parts, prices)]
    combinations = sum(len(cell.job.configurations) for cell in plan.cells)
    listed = sum(one.k for cell in plan.cells for one in cell.job.configurations)
    values = combinations * (2 * len(request.measures) + 3)
    queries = max(len(one.query_ids) for one in plan.collections)
    senseless = len(plan.grid.senseless) * len(plan.collections)
    disk = (listed + values) * queries * _LISTED_BYTES
    return SweepForecast(combinations, senseless, len(plan.cells), Forecasts(tuple(cells)), disk,
        {one.id: why for one, why in plan.grid.senseless.items()},
    )  # fmt: skip


def _encoding(plan: SweepPlan, parts: Parts) -> Iterator[Forecast]:
    """Texts of each dataset by each encoder; chunks are counted as whole documents, whose tokens they share."""
    heads = [cell.job.head for cell in plan.cells]
    asked = {sized(head.encoder, head.dims) for head in heads}
    encoders = [one for one in plan.systems if one.name in asked]
    made = Forecaster(encoders, parts.tokenizer, plan.request.seed, None, measure=True)
    room = Room(parts.tokenizer)
    for one in plan.collections:
        texts, queries = one.texts, list(one.queries)

        def rehearse(hear: Any, texts: Sequence[str] = texts, queries: list[str] = queries) -> bool:
            hear(texts, "document")
            hear(queries, "query")
            return True

        def held(system: Similarity, one: Collection = one) -> Footprint:
            jobs = [cell.job for cell in plan.cells if cell.job.collection is one]
            own = [job for job in jobs if sized(job.head.encoder, job.head.dims) == system.name] or jobs
            return largest(room.needed(one, job.configurations, system) for job in own)

        yield from made.cells(
            Effort(
                "embed", one.name, len(texts) + len(queries), len(texts), 0, rehearse, texts, footprint=held
            )
        )


def _reranking(plan: SweepPlan, parts: Parts, prices: PriceList) -> Iterator[Forecast]:
    request = plan.request
    for one in plan.collections:
        tokens = _candidate_tokens(one, parts)
        configurations = [
            own for cell in plan.cells if cell.dataset == one.name for own in cell.job.configurations
        ]
        for name in request.reranker:
            own = [each for each in configurations if each.reranker == name]
            if name == NONE or not own:
                continue
            pairs = _pairs(own, one)
            timed = _timed(own, request, len(one.timed))
            total = pairs + timed
            usd = prices.usd(
                own[0], reranked=1, tokens=tokens, query=0, passage=0, passages=0
            )["rerank"] / 1000 * total  # fmt: skip
            seconds = _seconds(one, name, parts)
            # A price that the config gives to a local reranker is what a query would cost, not what the sweep pays.
            is_free = not asks_a_server(name, RERANKERS)
            yield Forecast(
                "rerank", one.name, name, len(one.query_ids), total, round(total * tokens),
                requests=None if is_free else total // max(request.k),
                usd=0.0 if is_free else usd, seconds=None if seconds is None else seconds * total,
                assumed=True,
            )  # fmt: skip


def _pairs(configurations: list[Configuration], one: Collection) -> int:
    """About how many pairs differ: for each encoder its deepest list, and one of words where there is a hybrid; other
    dimensions and indexes find nearly the same passages, and a pair is scored once."""
    lists: dict[tuple[str, str, str], int] = {}
    for each in configurations:
        sources = [each.encoder, *(["words"] if each.mode == "hybrid" else [])]
        for source in sources:
            key = source, each.chunk, each.rewrite
            lists[key] = max(lists.get(key, 0), each.k)
    return min(sum(lists.values()), len(one.ids)) * len(one.query_ids)


def _timed(configurations: list[Configuration], request: SweepRequest, queries: int) -> int:
    """Pairs that are scored afresh for the clock."""
    keys = {
        (each.mode, each.k, each.deduplicate, each.boost, each.chunk, each.rewrite) for each in configurations
    }
    latency = request.latency
    calls = latency.repeats * (latency.warmup + queries)
    loaded = {each for each in configurations if each.dims is None and each.index == request.index[0]}
    return sum(key[1] for key in keys) * calls + sum(each.k for each in loaded) * (queries + latency.warmup)


def _candidate_tokens(one: Collection, parts: Parts) -> float:
    step = max(1, len(one.texts) // 200)
    passages = token_lengths(parts.tokenizer, one.texts[::step])
    return float(np.mean(passages) + np.mean(token_lengths(parts.tokenizer, one.queries)))


def _seconds(one: Collection, name: str, parts: Parts) -> float | None:
    """Seconds per pair on this machine; None where it cannot be tried without sending anything."""
    try:
        reranker = parts.reranker(name).reranker
        texts = list(one.texts[:_SAMPLE])
        reranker.score(one.queries[0], texts)
        began = perf_counter()
        reranker.score(one.queries[0], texts)
        return (perf_counter() - began) / len(texts)
    except EmbassayError:
        return None
