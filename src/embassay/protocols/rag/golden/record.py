"""The record of a golden run, made from what it has brought."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median, pstdev
from typing import Any

from embassay.protocols.rag.golden import summary
from embassay.protocols.rag.golden.gathered import Gathered
from embassay.protocols.rag.golden.labels import label_summary, query_labels
from embassay.protocols.rag.golden.layout import STAGES
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.golden.work import Work
from embassay.protocols.rag.judges import about
from embassay.stats import Estimate

TITLES: Mapping[str, str] = {
    "S1": "Rewrite and embed",
    "S2": "Retrieve",
    "S3": "Merge",
    "S4": "Grade",
    "S5": "Prune",
    "S6": "Order",
}
FAILED_LOUDLY = 0.05
"""Over this share of failed queries a golden set is no longer one of the questions that were asked."""
_NOISE_QUERIES = 40
"""Queries from which the judge's noise is estimated: the model is fitted anew to each."""


def settings_of(work: Work, profile: str) -> summary.Settings:
    """What was asked for."""
    request, options = work.request, work.request.options
    return summary.Settings(
        corpus=request.corpus or request.dataset,
        queries=request.queries or request.dataset,
        encoder=work.encoder.name,
        rewriter=work.rewriter.name,
        judge=work.judge.name,
        ranking=request.engine,
        seed=request.seed,
        profile=profile,
        top=options.top,
        minimum=options.minimum,
        parameters={
            "S1": {"nfc": options.nfc},
            "S2": {
                "depth": options.depth, "bm25_k1": options.bm25_k1, "bm25_b": options.bm25_b,
                "chunk": options.chunk, "overlap": options.overlap if options.chunk else None,
            },
            "S3": {"rrf_c": options.rrf_c, "tokenizer": request.tokenizer},
            "S4": {"judge_question": options.judge_question, "failed": options.failed},
        },
    )  # fmt: skip


def stages_of(
    told: Mapping[str, Mapping[str, Any]], queries: Sequence[Gathered]
) -> tuple[summary.Stage, ...]:
    """How each stage went, with sums of what it counted."""
    counted = {
        "S1": (), "S2": ("dense", "sparse"), "S3": ("candidates", "both"), "S4": ("graded", "ungraded", "attempts"),
        "S5": ("kept",), "S6": ("ranked", "calls"),
    }  # fmt: skip
    found = []
    for name in STAGES:
        if name not in told:
            continue
        one = told[name]
        sums = {key: sum(query.state.counts.get(key, 0) for query in queries) for key in counted[name]}
        found.append(
            summary.Stage(name, TITLES[name], one["done"], one["kept"], one["failed"], one["seconds"], sums)
        )
    return tuple(found)


def query_of(one: Gathered) -> summary.Query:
    """A query in the record."""
    state = one.state
    return summary.Query(
        query_id=state.id,
        text=state.text,
        folder=state.folder.name,
        status=state.status,
        rewrite=one.rewrite,
        stage=state.stage,
        reason=state.reason,
        pool=len(one.rows),
        grades=query_labels(state.id, one.grades).counts if one.rows else (),
        kept=one.kept,
        cut_stage=one.cut_stage,
        calls=len(one.calls),
        stopped=one.stopped,
        claims=one.claims,
        doubts=tuple(one.doubts),
    )


def tokens_of(queries: Sequence[Gathered], tokenizer: str) -> summary.Tokens | None:
    """Tokens per candidate over all pools (spec rag 3.1); None where no pool is there."""
    counts = [count for one in queries for count in one.tokens]
    if not counts:
        return None
    sd = pstdev(counts) * math.sqrt(len(counts) / max(1, len(counts) - 1))
    return summary.Tokens(
        tokenizer, float(mean(counts)), float(sd), len(counts), float(median(counts)), max(counts)
    )


def labels_of(queries: Sequence[Gathered], validated: int) -> dict[str, float | None]:
    """The label summary of the queries in the golden set, of which people have checked some."""
    done = [query_labels(one.state.id, one.grades) for one in queries if one.is_done]
    return label_summary(done, validated=validated)


def judge_of(
    work: Work, queries: Sequence[Gathered], told: Mapping[str, Mapping[str, Any]]
) -> summary.JudgeFacts:
    """Who judged, how many attempts it took, and what it cost."""
    facts, counts = about(work.judge), getattr(work.judge, "counts", None)
    journal: Any = work.ledger.journal
    spent = journal.by_account().get(work.judge.name) if journal is not None else None
    grades = [row for one in queries for row in one.rows if row["grade"] is not None]
    orders = [call for one in queries for call in one.calls]
    failed = {stage: told.get(stage, {}).get("failed", 0) for stage in ("S4", "S6")}
    return summary.JudgeFacts(
        name=work.judge.name,
        identity=work.judge.identity,
        model=", ".join(sorted({row["model"] for row in grades})) or facts["model"],
        temperature=facts["temperature"],
        top_p=facts["top_p"],
        prompts=facts.get("prompts", {}),
        answers=(_answers("grade", grades, failed["S4"]), _answers("order", orders, failed["S6"])),
        asked=counts.asked if counts else None,
        cached=counts.cached if counts else None,
        usd=spent.usd if spent else None if counts else 0.0,
        input_tokens=spent.input_tokens if spent else 0,
        output_tokens=spent.output_tokens if spent else 0,
        requests=spent.requests if spent else 0,
        seconds=spent.seconds if spent else None,
    )


def _answers(kind: str, rows: Sequence[Mapping[str, Any]], failed: int) -> summary.Answers:
    attempts = Counter(row["attempts"] for row in rows)
    faults = Counter(text.partition(":")[0] for row in rows for text in row["rejected"])
    most = max(attempts, default=0)
    return summary.Answers(
        kind, len(rows), tuple(attempts[n] for n in range(1, most + 1)), dict(faults.most_common()), failed
    )


def ranking_of(engine: str, queries: Sequence[Gathered], seed: int) -> summary.RankingFacts:
    """How the pools were ordered, and what the answers say of the judge."""
    from embassay.protocols.rag.ranking.report import judge_notes

    done = [one for one in queries if one.is_done]
    calls = sum(len(one.calls) for one in done)
    names = sorted({name for one in done for name in one.claims})
    claims = {name: mean(one.claims[name] for one in done if name in one.claims) for name in names}
    judged = [one.judged() for one in done]
    return summary.RankingFacts(
        engine=engine,
        calls=calls,
        calls_per_query=calls / len(done) if done else None,
        stopped=dict(Counter(one.stopped for one in done).most_common()),
        claims=claims,
        doubts=dict(Counter(doubt for one in done for doubt in one.doubts).most_common()),
        contradictions=_contradictions(judged, seed) if calls else None,
        place_bias=_place_bias(judged, seed) if calls else (),
        notes=judge_notes(judged, seed=seed),
    )


def _contradictions(judged: Sequence[Any], seed: int) -> summary.Contradictions:
    from embassay.protocols.rag.ranking.report import consistency, judge_noise

    found = consistency(judged, seed=seed)
    noise = judge_noise(judged[:_NOISE_QUERIES], seed=seed)
    none = Figure(None, reason="no pair of passages was shown twice")
    return summary.Contradictions(
        found.pairs, found.contradicted, figure(found.share) or none, figure(noise) if noise else None
    )


def _place_bias(judged: Sequence[Any], seed: int) -> tuple[summary.PlaceBias, ...]:
    from embassay.protocols.rag.ranking.report import place_gains

    found = place_gains(judged, seed=seed)
    gains: Iterable[Estimate] = found.gains if found else ()
    return tuple(
        summary.PlaceBias(place, made)
        for place, gain in enumerate(gains, start=1)
        if (made := figure(gain)) is not None
    )


def figure(estimate: Estimate | None) -> Figure | None:
    """An estimate as a figure of the record."""
    if estimate is None or math.isnan(estimate.estimate):
        return None
    low, high = (None if math.isnan(value) else value for value in (estimate.low, estimate.high))
    return Figure(estimate.estimate, low, high, estimate.n)


def notes_of(work: Work, queries: Sequence[Gathered]) -> tuple[str, ...]:
    """What a reader should know before trusting the set."""
    found = [f"{left.reason}: {left.count:,} ({', '.join(left.examples)})" for left in work.read.skipped]
    found += work.read.warnings
    found += work.warnings
    failed = [one for one in queries if one.state.status == "failed"]
    if len(failed) > FAILED_LOUDLY * len(queries):
        found.insert(
            0,
            f"{len(failed)} of {len(queries)} questions failed (over {FAILED_LOUDLY:.0%}): the set is not one of the "
            "questions that were asked.",
        )
    return tuple(found)


def verdict_of(queries: Sequence[Gathered], labels: Mapping[str, float | None]) -> str:
    """What came out, in a sentence or two."""
    done = sum(one.is_done for one in queries)
    failed = sum(one.state.status == "failed" for one in queries)
    if not done:
        return "No question is through all stages yet."
    left = f" {failed} failed." if failed else ""
    good = labels["grade4plus5_count_median"]
    none = int(labels["queries_without_grade4plus5"] or 0)
    lacking = f" {none} of them have none." if none else ""
    return (
        f"{done:,} of {len(queries):,} questions have graded and ordered passages; the median question has {good:g} of "
        f"grade 4 or 5.{lacking}{left}"
    )
