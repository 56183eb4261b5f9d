"""Doing one cell of a noise probe: a system on a dataset in a language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from embassay.contracts import Similarity, Spread
from embassay.protocols.estimates import Items
from embassay.protocols.opening import CachedSystem, charged
from embassay.protocols.rag.probes import footprint
from embassay.protocols.rag.probes.lost import lost_queries
from embassay.protocols.rag.probes.noise import measured
from embassay.protocols.rag.probes.noise.levels import Lang
from embassay.protocols.rag.probes.noise.outcome import HEADLINE, outcome
from embassay.protocols.rag.probes.noise.questions import Questions, questions
from embassay.protocols.rag.probes.noise.request import NoiseRequest
from embassay.protocols.rag.probes.noise.rewriting import Rewritings
from embassay.protocols.rag.probes.noise.wordings import Variant, rewritten, small_talk
from embassay.protocols.rag.probes.resampling import ProbeContext
from embassay.records import TaskOutcome
from embassay.runs.promise import Footprint, room_for
from embassay.runs.rehearsal import Hear
from embassay.runs.spread import HERE
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class Job:
    """All that a worker needs to do a cell; `rewriters` are identities by name, whose rewritings are in `folder`."""

    system: str
    source: str
    lang: Lang
    request: NoiseRequest
    rewriters: Mapping[str, str]
    folder: Path
    cache: Path | None


def evaluate(
    job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    request, tokenizer = job.request, open_tokenizer(job.request.tokenizer)
    own = questions(request, job.source, job.lang)
    variants = wordings(own, request, {name: _rewritings(job, name) for name in job.rewriters})
    asked = measured.asked_of(variants)
    opened = CachedSystem(
        job.system,
        tokenizer=tokenizer,
        seed=request.seed,
        cache=job.cache,
        advance=advance,
        ledger=ledger,
        spread=spread,
    )
    context = ProbeContext(own.dataset, tokenizer, request.seed, request.resamples)

    def calls(hear: Hear) -> bool:
        return measured.rehearse(own, asked, hear)

    need = _needed(opened.system, own, asked, request)
    with room_for(need), charged(ledger, opened.system.name) as requests:
        opened.prefetch(calls)
        opened.remember(calls)
        cosines = measured.cosines(opened.system, own, asked)
        lost = lost_queries(opened.system, own.ids, lambda q: _texts_of(own, variants, q))
        if lost.too_many:
            result = lost.without_score(HEADLINE, Items(), own.skipped)
        else:
            values = {measured.COSINE: cosines, **measured.retrieval(opened.system, own, asked)}
            for rows in values.values():
                rows[..., lost.mask] = np.nan
            result = outcome(own.ids, variants, values, context)
            result = replace(result, skipped=(*own.skipped, *lost.skipped), warnings=own.warnings)
    missing = {
        "rewritings_missing": len({lacking for one in variants for lacking in _unwritten(variants, one)})
    }
    return opened.told(result, {**requests, **missing})


def wordings(
    own: Questions, request: NoiseRequest, rewritings: Mapping[str, Mapping[str, str]]
) -> Sequence[Variant]:
    """Every wording: small talk at each level, then what each rewriter made of all of them."""
    noisy = small_talk(own, request.runs, request.seed)
    return [*noisy, *(one for name, texts in rewritings.items() for one in rewritten(noisy, name, texts))]


def rehearse(request: NoiseRequest, source: str, lang: Lang, hear: Hear) -> bool:
    """Tell of the calls that a cell makes of an encoder, as far as they are known: rewritings are taken to be as many
    texts as there are wordings."""
    own = questions(request, source, lang)
    return measured.rehearse(own, measured.asked_of(wordings(own, request, {})), hear)


def needed(request: NoiseRequest, source: str, lang: Lang, system: Similarity) -> Footprint:
    """What a cell will hold, as far as wordings are known: a rewriting is taken to be as long as its question."""
    own = questions(request, source, lang)
    asked = measured.asked_of(wordings(own, request, {}))
    every = 1 + len(dict.fromkeys(request.rewriters))
    return _needed(
        system,
        own,
        replace(asked, texts=asked.texts * every, places=np.tile(asked.places, (every, 1, 1))),
        request,
    )


def _needed(system: Similarity, own: Questions, asked: measured.Asked, request: NoiseRequest) -> Footprint:
    sizes = footprint.Sizes(asked.places.size, asked.places.size, len(own), request.resamples)
    return footprint.needed(
        system, [*asked.texts, *own.references], own.corpus, sizes,
        "Probe a smaller corpus, or fewer queries (--limit)",
    )  # fmt: skip


def _rewritings(job: Job, name: str) -> Mapping[str, str]:
    return Rewritings(job.folder, job.rewriters[name]).read()


def _texts_of(own: Questions, variants: Sequence[Variant], query: int) -> Iterator[str]:
    yield own.references[query]
    for one in variants:
        yield from (run[query] or "" for run in one.texts)


def _unwritten(variants: Sequence[Variant], one: Variant) -> Iterator[tuple[str, str | None]]:
    """The texts of which a rewriter has made nothing."""
    noisy = variants[one.level]
    for run, before in zip(one.texts, noisy.texts, strict=True):
        yield from ((one.rewriter, old) for text, old in zip(run, before, strict=True) if text is None)
