"""Doing one cell of a name probe: a system in a language. Runs in the parent or in a worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from embassay.contracts import Similarity, Spread
from embassay.protocols.estimates import Items
from embassay.protocols.opening import CachedSystem, charged
from embassay.protocols.rag.probes import footprint
from embassay.protocols.rag.probes.lost import lost_queries
from embassay.protocols.rag.probes.names import measured
from embassay.protocols.rag.probes.names.bundles import Lang
from embassay.protocols.rag.probes.names.material import material
from embassay.protocols.rag.probes.names.outcome import HEADLINE, outcome
from embassay.protocols.rag.probes.names.request import NamesRequest
from embassay.protocols.rag.probes.names.texts import Texts, all_bundles, texts_of
from embassay.protocols.rag.probes.resampling import ProbeContext
from embassay.records import TaskOutcome
from embassay.runs.promise import Footprint, room_for
from embassay.runs.rehearsal import Hear
from embassay.runs.spread import HERE
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class Job:
    """All that a worker needs to do a cell; `system` and `lang` are those of the cell."""

    system: str
    lang: Lang
    dataset: str
    request: NamesRequest
    cache: Path | None


def evaluate(
    job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    request = job.request
    tokenizer = open_tokenizer(request.tokenizer)
    texts, collections = made(request, job.lang)
    opened = CachedSystem(
        job.system,
        tokenizer=tokenizer,
        seed=request.seed,
        cache=job.cache,
        advance=advance,
        ledger=ledger,
        spread=spread,
    )
    context = ProbeContext(job.dataset, tokenizer, request.seed, request.resamples)

    def calls(hear: Hear) -> bool:
        return measured.rehearse(texts, collections, hear)

    with room_for(needed(request, job.lang, opened.system)), charged(ledger, opened.system.name) as requests:
        opened.prefetch(calls)
        opened.remember(calls)
        found = measured.margins_of(opened.system, texts)
        lost = lost_queries(opened.system, [f"{q:03d}" for q in range(request.size)], texts.of_query)
        if lost.too_many:
            result = lost.without_score(HEADLINE, Items())
        else:
            retrieval = measured.retrieval_of(opened.system, collections)
            for of_rows in (found.name, found.topic, found.both, *retrieval.values()):
                of_rows[..., lost.mask] = np.nan
            result = replace(outcome(request.asked, found, retrieval, context), skipped=lost.skipped)
    return opened.told(result, requests)


@lru_cache(maxsize=2)
def made(request: NamesRequest, lang: Lang) -> tuple[Texts, measured.Collections]:
    """The texts of the bundles in a language, and the collections of them; two stay in memory."""
    by_run = all_bundles(material(lang, **request.files), request.size, request.runs, request.seed)
    texts = texts_of(by_run, request.asked, request.seed)
    return texts, measured.collections_of(by_run, request.asked, request.seed)


def needed(request: NamesRequest, lang: Lang, system: Similarity) -> Footprint:
    """What a cell will hold."""
    texts, collections = made(request, lang)
    asked = [one for runs in collections.queries.values() for run in runs for one in run]
    stored = [one for passages in collections.passages.values() for one in passages]
    places = sum(map(len, collections.queries.values())) * request.size
    sizes = footprint.Sizes(texts.right.size, places, request.size, request.resamples)
    asked, stored = (
        list(dict.fromkeys([*texts.queries, *asked])),
        list(dict.fromkeys([*texts.passages, *stored])),
    )
    return footprint.needed(system, asked, stored, sizes, "Use fewer --queries, --runs or conditions")


def rehearse(request: NamesRequest, lang: Lang, hear: Hear) -> bool:
    """Tell of the calls that a cell makes of an encoder."""
    return measured.rehearse(*made(request, lang), hear)
