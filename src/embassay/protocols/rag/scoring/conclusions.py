"""What a scoring says in sentences: its finding, what the ceilings say of each run, the source's advice.

Advice is called tested only where runs or pools here differ in just that, and holds only where its whole interval does.

Verbs have one meaning each: *beats* (adjusted p under 0.05), *cannot be told apart from* (otherwise), *may be first*
(the ranks that the tests allow include 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, starmap
from math import comb

import numpy as np

from embassay.measures import evaluate_graded
from embassay.measures.judgements import find_inverted_weights, find_pools_without_grade_5
from embassay.measures.sets import mark_queries_whose_relevant_fit_top
from embassay.measures.summary import count_over_one
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import (
    LOWER,
    MISSING_LABELS,
    VERBS,
    Claim,
    Relation,
    make_leader_claims,
    split_first_place_sentence_at_name,
)
from embassay.protocols.kernel.tables import format_interval, format_noun_count, format_score
from embassay.protocols.rag.scoring.identity import HARDLY, IDLE
from embassay.protocols.rag.scoring.inputs import JudgementGrades1To5
from embassay.protocols.rag.scoring.placement import (
    DEPTHS,
    ColumnsToResampleByRun,
    PoolOfTwoRuns,
    RunOnJudgedQueries,
    RunsOnJudgedQueries,
    have_same_documents,
    map_loss_names_to_columns,
    name_depth_loss_column,
)
from embassay.protocols.rag.scoring.quantities import (
    CONFIDENCE,
    ResampledQuantity,
    ResampledRunQuantities,
    compute_quantity_interval,
)
from embassay.protocols.rag.scoring.score import (
    ANSWERS,
    JUDGED,
    MeasuredRun,
    NumberInSentence,
    RequestedMeasure,
    RunComparisonByMeasure,
    RunInterpretation,
    RunMeasureValue,
    RunPairDifference,
    RunReadingStatistics,
    ScoringNote,
    ScoringRecord,
    TestedAdviceVerdict,
)
from embassay.protocols.rag.scoring.tables import ALPHA
from embassay.stats.resampling import are_replicates_constant


def format_percent(value: float) -> str:
    """A share as percent with one decimal.

    >>> format_percent(0.8521)
    '85.2%'
    """
    return f"{100 * value:.1f}%"


def format_number_with_interval(evidence: NumberInSentence) -> str:
    """A number with its interval in brackets; %PROC as percent.

    >>> score, share = NumberInSentence(0.9, 0.85, 0.95, what="PROC@10"), NumberInSentence(0.5, what="%PROC@10")
    >>> format_number_with_interval(score), format_number_with_interval(share)
    ('0.900 (0.850–0.950)', '50.0%')
    """
    if evidence.what.startswith("%"):
        text = format_percent(evidence.point)
        if evidence.low is None:
            return text
        low, high = map(format_percent, evidence.ends)
        return f"{text} ({low[:-1]}–{high})"
    text = format_score(evidence.point)
    return text if evidence.low is None else f"{text} ({format_interval(*evidence.ends)})"


def join_words_with_and(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


LITTLE = 0.05
"""A run that loses less than this of the ideal has little left to mend."""
MARGIN = 0.01
"""What is less than this of a score is nothing to act on."""

NEXT = {
    "pool": "Next, improve the pool: try hybrid retrieval (words and vectors), better index recall or query rewriting.",
    "ordering": "Next, improve the ordering: try a reranker, shorter chunks, better metadata or deduplication.",
}


def make_run_interpretations(
    board: RunsOnJudgedQueries,
    facts: Iterable[RunReadingStatistics],
    cutoffs: Iterable[int],
    resampled: ResampledRunQuantities,
) -> tuple[RunInterpretation, ...]:
    """A reading for every run and cutoff."""
    pools = {fact.name: fact.pool for fact in facts}
    ks = list(cutoffs)
    return tuple(_make_loss_breakdown_of_run(run, k, pools[run.name], resampled) for run in board.runs for k in ks)


def make_number_with_resampled_interval(
    resampled: ResampledRunQuantities, what: str, column: str, run: str
) -> NumberInSentence | None:
    """Cite a resampled quantity with its interval; None where it is undefined."""
    quantity = resampled.make_resampled_run_quantity(column, run)
    return make_number_with_interval(what, quantity) if np.isfinite(quantity.value) else None


def make_number_with_interval(
    what: str, quantity: ResampledQuantity, confidence: float = CONFIDENCE
) -> NumberInSentence:
    """Cite a quantity that has a value, with its interval."""
    low, high = compute_quantity_interval(quantity, confidence) or (None, None)
    same = low is None and quantity.units > 1 and are_replicates_constant(quantity.replicates)
    return NumberInSentence(quantity.value, low, high, what=what, same=same)


def _make_loss_breakdown_of_run(
    run: RunOnJudgedQueries, k: int, pool: str, resampled: ResampledRunQuantities
) -> RunInterpretation:
    names = map_loss_names_to_columns(k)
    titles = {
        "reached": f"RA-nWG@{k}", "ceiling": f"PROC@{k}", "share": f"%PROC@{k}", "pool": f"lost in the pool@{k}",
        "ordering": f"lost in the ordering@{k}", "excess": f"ordering less pool@{k}", "total": f"lost in all@{k}"
    }  # fmt: skip
    told_by = {
        name: make_number_with_resampled_interval(resampled, titles[name], names[name], run.name) for name in titles
    }
    facts = {name: fact for name, fact in told_by.items() if fact is not None}
    if len(facts) < len(titles):
        text = f"{run.name}@{k}: no conclusion is possible because no query has a useful document in its pool."
        return RunInterpretation(run.name, k, "untold", text, tuple(facts.values()))
    if run.graded.pool is None and run.documents.shape[1] <= k:
        return RunInterpretation(run.name, k, "untold", _note_short_run(run, k, facts["reached"]), (facts["reached"],))
    finding = _classify_larger_loss(facts)
    return RunInterpretation(
        run.name, k, finding, _phrase_run_interpretation(run.name, k, finding, pool, facts), tuple(facts.values())
    )


def _classify_larger_loss(facts: dict[str, NumberInSentence]) -> str:
    """Which loss is larger, as far as the intervals hold it."""
    total, excess = (
        facts["total"].find_interval_ends_or_exact_value,
        facts["excess"].find_interval_ends_or_exact_value,
    )
    if total is None or excess is None:
        return "open"
    if total[1] < LITTLE:
        return "little"
    if excess[0] > 0:
        return "ordering"
    if excess[1] < 0:
        return "pool"
    losses = [facts[name].find_interval_ends_or_exact_value for name in ("pool", "ordering")]
    sure = [ends is not None and ends[0] > MARGIN for ends in losses]
    return "both" if all(sure) else "open"


def _phrase_run_interpretation(run: str, k: int, finding: str, pool: str, facts: dict[str, NumberInSentence]) -> str:
    heads = {
        "pool": f"{run}@{k}: the pool loses more. A perfect ordering of {pool} would give a PROC of "
        f"{format_number_with_interval(facts['ceiling'])}. The pool loses "
        f"{format_number_with_interval(facts['pool'])}, the ordering "
        f"{format_number_with_interval(facts['ordering'])}; %PROC is {format_number_with_interval(facts['share'])}.",
        "ordering": f"{run}@{k}: the ordering loses more. {_capitalize_first(pool)} could give a PROC of "
        f"{format_number_with_interval(facts['ceiling'])}, but gives "
        f"{format_number_with_interval(facts['reached'])}; %PROC is "
        f"{format_number_with_interval(facts['share'])}. The ordering loses "
        f"{format_number_with_interval(facts['ordering'])}, "
        f"the pool {format_number_with_interval(facts['pool'])}.",
        "both": f"{run}@{k}: both lose. The pool loses {format_number_with_interval(facts['pool'])} and the ordering "
        f"{format_number_with_interval(facts['ordering'])}; it is undecided which loses more.",
        "little": f"{run}@{k}: little is left to improve: {format_number_with_interval(facts['total'])} "
        "of the ideal is lost.",
        "open": f"{run}@{k}: undecided on these queries. The pool loses {format_number_with_interval(facts['pool'])}, "
        f"and the ordering {format_number_with_interval(facts['ordering'])}.",
    }
    return " ".join(filter(None, [heads[finding], NEXT.get(finding, "")]))


def _note_short_run(run: RunOnJudgedQueries, k: int, reached: NumberInSentence) -> str:
    return (
        f"{run.name}@{k}: RA-nWG is {format_number_with_interval(reached)}, "
        f"but no list is longer than {k}, so the pool "
        "cannot be separated from the ordering. Score a deeper run, or pass the candidates with --pool."
    )


def _capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]


_MEANING = {
    "holds": "It helps.", "does not hold": "It does not help.", "open": "Undecided on these queries."
}  # fmt: skip
UNTESTED = (
    ("ANN index", "pool", "an HNSW index within 1-2% of a flat one (compare a run from each)."),
    ("rewriting", "pool", "rewriting queries and normalising to Unicode NFC (compare runs with and without)."),
    ("near-duplicates", "ordering", "removing near-duplicates and trimming before reranking (compare both runs)."),
    ("shorter chunks", "ordering", "shorter chunks and cleaner metadata (they change the documents themselves)."),
    ("int8", "cost", "int8 vectors only under hard memory limits, after rechecking %PROC."),
    ("dimensions", "cost", "1024 dimensions, 2048 only for a deep K (compare a run from each).")
)  # fmt: skip


def make_advice_on_runs(
    board: RunsOnJudgedQueries, cutoffs: Sequence[int], extra: ColumnsToResampleByRun, resampled: ResampledRunQuantities
) -> tuple[TestedAdviceVerdict, ...]:
    """Make every piece of advice on the runs, with its status and numbers."""
    tested = [
        *_list_hybrid_guidance(extra, resampled),
        *_list_run_depth_guidance(board, cutoffs, resampled),
        *_list_reranking_guidance(board, cutoffs, resampled),
    ]
    knobs = {advice.knob for advice in tested}
    missing = [] if "hybrid" in knobs else [
        ("hybrid", "pool", "a pool from two retrievers (score runs from both, deeper than 2K, without --pool).")
    ]  # fmt: skip
    missing += [] if "depth" in knobs else [
        ("depth", "pool", "50 candidates for @10 and 100 for @30 (score a deeper run).")
    ]  # fmt: skip
    missing += [] if "reranker" in knobs else [
        ("reranker", "ordering", "a strong reranker (score a run and its reranked version, with the same documents).")
    ]  # fmt: skip
    return (*tested, *starmap(_make_not_tested_guidance_verdict, (*missing, *UNTESTED)))


def classify_gain_by_interval(gain: NumberInSentence, least: float = 0.0) -> str:
    """Whether a gain of more than `least` holds with its whole interval, is excluded by it, or is open."""
    if gain.find_interval_ends_or_exact_value is None:
        return "open"
    low, high = gain.find_interval_ends_or_exact_value
    if low > least:
        return "holds"
    return "does not hold" if high <= max(least, MARGIN) else "open"


def _list_hybrid_guidance(
    extra: ColumnsToResampleByRun, resampled: ResampledRunQuantities
) -> Iterable[TestedAdviceVerdict]:
    """Runs that are fusions of two others, against the better of the two; without one, the best pool that two
    lists in turn make. Its interval is widened for having been chosen among several."""
    for k in dict.fromkeys(union.cutoff for union in extra.unions):
        at_k = [union for union in extra.unions if union.cutoff == k]
        best = max(
            at_k, key=lambda union: resampled.make_resampled_run_quantity(union.hybrid_ceiling_column, union.a).value
        )
        ceiling = make_number_with_resampled_interval(resampled, f"PROC@{k}", best.hybrid_ceiling_column, best.a)
        quantity = resampled.make_resampled_run_quantity(best.hybrid_gain_column, best.a)
        if ceiling is None or not np.isfinite(quantity.value):
            continue
        # Bonferroni, since the best of several was chosen by the same data.
        gain = make_number_with_interval(f"gain in PROC@{k}", quantity, 1 - 0.05 / len(at_k))
        status = classify_gain_by_interval(gain)
        told_gain = f"{_phrase_gain(gain)} than the better run alone"
        text = (
            f"{_describe_pool_union(best)} has a PROC@{k} of {format_number_with_interval(ceiling)}, "
            f"{told_gain}. {_MEANING[status]}"
        )
        size = NumberInSentence(best.depth, what="distinct documents")
        yield TestedAdviceVerdict("hybrid", "pool", status, text, (ceiling, gain, *([] if best.fused else [size])))


def _describe_pool_union(union: PoolOfTwoRuns) -> str:
    if union.fused:
        return f"{union.fused} combines {union.a} and {union.b} and"
    return f"A hybrid pool of {union.depth} distinct documents, alternating {union.a} and {union.b},"


def _phrase_gain(gain: NumberInSentence) -> str:
    """A gain as a number with more or less; neither where it is none."""
    # What the table rounds to 0 is neither more nor less.
    if format_score(abs(gain.point)) == format_score(0.0):
        ends = "" if gain.low is None else f" ({format_interval(*gain.ends)})"
        return f"no higher{ends}"
    if gain.point >= 0:
        return f"{format_number_with_interval(gain)} higher"
    low, high = gain.ends
    return f"{format_number_with_interval(NumberInSentence(-gain.point, -high, -low, what=gain.what))} lower"


def _list_run_depth_guidance(
    board: RunsOnJudgedQueries, cutoffs: Iterable[int], resampled: ResampledRunQuantities
) -> Iterable[TestedAdviceVerdict]:
    """The depth that the source advises, for the runs that go deeper."""
    for k in cutoffs:
        for run in board.runs:
            if k not in DEPTHS or run.graded.pool is not None or run.documents.shape[1] <= DEPTHS[k]:
                continue
            lost = make_number_with_resampled_interval(
                resampled, f"lost in PROC@{k}", name_depth_loss_column(k), run.name
            )
            if lost is None or lost.find_interval_ends_or_exact_value is None:
                continue
            low, high = lost.find_interval_ends_or_exact_value
            status = "holds" if high < MARGIN else "does not hold" if low > MARGIN else "open"
            text = (
                f"{DEPTHS[k]} candidates for @{k}: "
                f"cutting {run.name} to that depth loses {format_number_with_interval(lost)} of PROC@{k}. "
                + {"holds": "Enough.", "does not hold": "Fetch more.", "open": "Undecided on these queries."}[status]
            )
            yield TestedAdviceVerdict("depth", "pool", status, text, (lost,))


def _list_reranking_guidance(
    board: RunsOnJudgedQueries, cutoffs: Iterable[int], resampled: ResampledRunQuantities
) -> Iterable[TestedAdviceVerdict]:
    """Advise on reranking, by pairs of runs with the same documents in another order."""
    pairs = [(a, b) for a, b in combinations(board.runs, 2) if have_same_documents(a, b)]
    for k in cutoffs:
        for a, b in pairs:
            quantity = resampled.difference(f"reading reached@{k}", b.name, a.name)
            gain = make_number_with_interval(f"gain in RA-nWG@{k}", quantity)
            if gain.find_interval_ends_or_exact_value is None:
                continue
            status = classify_gain_by_interval(gain)
            more = _phrase_gain(gain)
            text = f"{b.name} reorders the documents of {a.name}: RA-nWG@{k} is {more}. {_MEANING[status]}"
            yield TestedAdviceVerdict("reranker", "ordering", status, text, (gain,))


def _make_not_tested_guidance_verdict(knob: str, finding: str, what: str) -> TestedAdviceVerdict:
    return TestedAdviceVerdict(knob, finding, "not tested", f"Not tested on this data: {what}")


def phrase_score_verdict(score: ScoringRecord) -> str:
    """Phrase the verdict for the heading: who may be first by the headline measure."""
    comparison = score.find_measure_comparison(score.headline)
    on = f"on {score.headline}"
    valued = [
        value
        for value in (score.value(run.name, score.headline) for run in score.runs)
        if value and value.value is not None
    ]
    if not valued:
        reasons = [value.reason for value in score.values if value.measure == score.headline]
        is_idle = all(reason.endswith(IDLE) for reason in reasons)
        return f"{score.headline} is {IDLE if is_idle else 'undefined on these judgements'}"
    if len(score.runs) == 1:
        return f"{valued[0].run} scores {numbers.format_score(valued[0].value or 0.0)} {on}"
    if comparison is None or not comparison.pairs:
        return f"No ranking {on}: differences cannot be tested"
    if (other := find_less_judged_run(score)) is not None:
        highest = "lowest" if is_lower_better(score, score.headline) else "highest"
        return f"{comparison.runs[0]} scores {highest} {on}, but {other[0]} has fewer graded passages"
    claim = claim_first_runs(comparison)[0]
    before, after = split_first_place_sentence_at_name(claim, f" {on}", every="run", noun="run", anyone="run")
    return f"{before}{claim.subject}{after}" if after else before


def claim_first_runs(comparison: RunComparisonByMeasure) -> tuple[Claim, ...]:
    """Claim which runs may be first by a measure."""
    first = _list_possible_first_runs(comparison)
    alone = len(first) == 1 and comparison.rank_high[comparison.runs.index(first[0])] == 1
    return make_leader_claims(comparison.measure, first, comparison.runs, alone=alone)


def is_lower_better(score: ScoringRecord, name: str) -> bool:
    """Whether a measure of the scoring is the better the lower it is."""
    return any(measure.direction == "lower" for measure in score.measures if measure.name == name)


def find_less_judged_run(score: ScoringRecord) -> tuple[str, float, float] | None:
    """The run that would be beaten by the leader if more of it were judged: its name, the share of the passages before
    the cutoff that have no grade, and the leader's. None where there is no such run."""
    comparison = score.find_measure_comparison(score.headline)
    if comparison is None or not comparison.runs:
        return None
    best = comparison.runs[0]
    spared = [pair for pair in comparison.pairs if pair.judged_less and best in (pair.a, pair.b)]
    if not spared:
        return None
    least = max(
        (pair.b if pair.a == best else pair.a for pair in spared),
        key=lambda run: abs(comparison.unjudged[run] - comparison.unjudged[best]),
    )
    return least, comparison.unjudged[least], comparison.unjudged[best]


def _describe_uneven_judging(score: ScoringRecord) -> str:
    """Warn of what it means for the order that a run is judged less."""
    if (uneven := find_less_judged_run(score)) is None:
        return ""
    name, share, other = uneven
    return (
        f"{name} has no grade for {format_percent(share)} of the passages that count, compared with "
        f"{format_percent(other)} for the leader: {MISSING_LABELS}"
    )


def phrase_score_lede(score: ScoringRecord) -> tuple[str, ...]:
    """Phrase the sentences under the heading: the gap of the two best, and what the ceilings say."""
    best = _find_best_run_value(score)
    if best is None or best.value is None:
        value = next((value for value in score.values if value.measure == score.headline), None)
        return (f"{value.reason[:1].upper()}{value.reason[1:]}.",) if value and value.reason else ()
    sentences = (
        [_phrase_gap_of_two_best(score), _describe_uneven_judging(score)]
        if len(score.runs) > 1
        else [_describe_single_run_interval(best)]
    )
    measure = next(measure_facts for measure_facts in score.measures if measure_facts.name == score.headline)
    cutoff = measure.cutoff if any(reading.cutoff == measure.cutoff for reading in score.readings) else None
    for reading in score.readings:
        if reading.run == best.run and cutoff in (None, reading.cutoff):
            sentences.append(reading.text)
            break
    return tuple(sentence for sentence in sentences if sentence)


def _find_best_run_value(score: ScoringRecord) -> RunMeasureValue | None:
    comparison = score.find_measure_comparison(score.headline)
    name = comparison.runs[0] if comparison is not None and comparison.runs else score.runs[0].name
    return score.value(name, score.headline)


def _describe_single_run_interval(best: RunMeasureValue) -> str:
    over = f"{best.n:,} of {best.total:,} {best.unit}"
    if best.low is None:
        return f"Based on {over}, without an interval. Add a second run to compare."
    interval = numbers.format_interval(*best.ends)
    return f"The 95% interval is {interval}, based on {over}. Add a second run to compare."


def _phrase_gap_of_two_best(score: ScoringRecord) -> str:
    """Phrase the difference between the two best, with what the test says of it."""
    comparison = score.find_measure_comparison(score.headline)
    if comparison is None or not comparison.pairs:
        return f"{comparison.reason[:1].upper()}{comparison.reason[1:]}." if comparison and comparison.reason else ""
    pair = comparison.pairs[0]
    a, b = (score.value(name, score.headline) for name in (pair.a, pair.b))
    if a is None or b is None or a.value is None or b.value is None:
        return ""
    ends = orient_interval_to_positive_difference(pair)
    gap = numbers.format_score(abs(pair.difference))
    gap += (
        f" (95% interval {numbers.format_interval(*ends)})" if ends else " (on every query)" if pair.difference else ""
    )
    values = f"{pair.a} {numbers.format_score(a.value)}", f"{pair.b} {numbers.format_score(b.value)}"
    others = [name for name in _list_possible_first_runs(comparison) if name not in (pair.a, pair.b)]
    more = f" {join_words_with_and(others)} may also be first." if others else ""
    claim = claim_run_pair(pair, score.headline)
    if claim.relation == "beats":
        return f"{values[0]} {VERBS['beats']} {values[1]}, the next, by {gap}.{more}"
    if claim.relation == "higher":
        verb = LOWER if is_lower_better(score, score.headline) else VERBS["higher"]
        return f"{values[0]} {verb} {values[1]}, the next, by {gap}.{more}"
    return f"{values[0]} and {values[1]} differ by {gap} and cannot be told apart.{more}"


def orient_interval_to_positive_difference(pair: RunPairDifference) -> tuple[float, float] | None:
    """Orient the interval of a difference so that it is one above 0; None where it has none."""
    if pair.low is None or pair.high is None:
        return None
    return (pair.low, pair.high) if pair.difference >= 0 else (-pair.high, -pair.low)


def claim_run_pair(pair: RunPairDifference, measure: str) -> Claim:
    """What is said of two runs: that one beats the other, that it only scores higher, for of one too little is judged,
    or that they cannot be told apart."""
    if pair.better:
        other = pair.b if pair.better == pair.a else pair.a
        return Claim(pair.better, "beats", measure, (other,), pair.difference)
    relation: Relation = "higher" if pair.judged_less else "level"
    return Claim(pair.a, relation, measure, (pair.b,), pair.difference)


def list_score_claims(score: ScoringRecord) -> Iterator[Claim]:
    """List the claims about runs, by every measure."""
    for comparison in score.comparisons:
        yield from list_comparison_claims(comparison)


def list_comparison_claims(comparison: RunComparisonByMeasure) -> Iterator[Claim]:
    """List the claims by one measure: who may be first, and what is said of each pair."""
    if comparison.pairs:
        yield from claim_first_runs(comparison)
    yield from (claim_run_pair(pair, comparison.measure) for pair in comparison.pairs)


def _list_possible_first_runs(comparison: RunComparisonByMeasure) -> list[str]:
    return [run for run, low in zip(comparison.runs, comparison.rank_low, strict=True) if low == 1]


FEW = 10
ABOVE = 1e-9
_TREATED = {
    "zero": "they are treated as worth 0, but not as harmful",
    "grade1": "they count as irrelevant",
    "condense": "they are removed before the cutoff",
}


def note_excluded_own_documents(gone: Mapping[str, int]) -> Iterator[ScoringNote]:
    """What `exclude_self` left out of each run."""
    for name, count in gone.items():
        text = f"{name}: {format_noun_count(count, 'line')} left out (a query's own document)."
        yield ScoringNote("own document", text, name, count)


_SELF = 0.1
"""From this share of queries on it is no accident that a document has the query's id."""


def note_runs_finding_own_document(first: Mapping[str, tuple[int, int]]) -> Iterator[ScoringNote]:
    """The runs whose queries find themselves, which costs each a place."""
    for name, (count, queries) in first.items():
        if count >= _SELF * queries:
            text = (
                f"{name}: in {count:,} of {format_noun_count(queries, 'query')}, the document with the "
                "query's own id comes first and is not judged relevant. Use --exclude-self to leave it out."
            )
            yield ScoringNote("own document first", text, name, count)


def note_input_oddities(
    judgements: JudgementGrades1To5, facts: Iterable[RunReadingStatistics], total: int
) -> Iterator[ScoringNote]:
    """Note what was odd about the files."""
    if judgements.dropped:
        text = f"The grade map leaves out {format_noun_count(judgements.dropped, 'judgement')}."
        yield ScoringNote("dropped", text, "", judgements.dropped)
    if judgements.repeated:
        times = format_noun_count(judgements.repeated, "judgement")
        yield ScoringNote("repeated judgements", f"The qrels repeat {times}.", "", judgements.repeated)
    grades = judgements.frame["grade"].unique().to_list()
    if len(grades) == 1:
        text = f"Every judgement has grade {grades[0]}, so no order is better than another."
        yield ScoringNote("one grade", text, "", grades[0])
    if total < FEW:
        yield ScoringNote(
            "few", f"With only {format_noun_count(total, 'query')}, the intervals are unreliable.", "", total
        )
    for run in facts:
        if run.missing:
            lacking = f"{run.missing:,} of {format_noun_count(total, 'judged query')}"
            nothing = "each counts as an empty result"
            is_idle = run.queries < HARDLY * total
            text = f"{run.name} lacks {lacking}: {'it is not tested' if is_idle else nothing}."
            yield ScoringNote("missing", text, run.name, run.missing, total)
        if run.unknown:
            text = f"{run.name} has {format_noun_count(run.unknown, 'query')} without judgements (left out)."
            yield ScoringNote("unknown", text, run.name, run.unknown)
        if run.repeated:
            times = format_noun_count(run.repeated, "document")
            text = f"{run.name} lists {times} twice for the same query; the better rank counts."
            yield ScoringNote("repeated", text, run.name, run.repeated, run.lines)
        if run.tied:
            equal = format_noun_count(run.tied, "document")
            text = f"{run.name} has {equal} tied with another document for the same query; ties are broken by id."
            yield ScoringNote("tied", text, run.name, run.tied, run.lines)


def note_undefined_queries(
    board: RunsOnJudgedQueries,
    measures: Sequence[RequestedMeasure],
    values: Sequence[RunMeasureValue],
    lost: Mapping[str, int],
) -> Iterator[ScoringNote]:
    """Queries where a measure is undefined or of another kind; `lost` are a run's questions that failed."""
    total = len(board.queries)
    names: dict[int, dict[str, None]] = {}
    for value in values:
        if (n := value.n + lost.get(value.run, 0)) < total and not value.measure.startswith(ANSWERS):
            names.setdefault(n, {})[value.measure] = None
    by_name = {measure.name: measure for measure in measures}
    for n, of_n in names.items():
        why = by_name[next(iter(of_n))].undefined
        these = join_words_with_and(_shorten_measure_names([by_name[name] for name in of_n], measures))
        text = f"{these}: based on {n:,} of {format_noun_count(total, 'query')}; undefined where {why}."
        yield ScoringNote("undefined", text, "", total - n, total)
    if _includes_set_measure(measures):
        yield from _note_rare_grade_weights(board, total)
    for k in sorted(
        {measure.facts.cutoff for measure in measures if measure.facts.base == "Hit" and measure.facts.cutoff}
    ):
        with_any = int((board.counts[:, 3:].sum(axis=1) > 0).sum())
        feasible = int(
            (mark_queries_whose_relevant_fit_top(board.runs[0].graded, k) & (board.counts[:, 3:].sum(axis=1) > 0)).sum()
        )
        if feasible < with_any:
            rest = f"the others have more than {k} documents of grade 4 or 5"
            text = f"Hit@{k} can be 1 for {feasible:,} of {with_any:,} queries; {rest}."
            yield ScoringNote("hit_feasible", text, "", feasible, with_any)


def note_unjudged_and_odd_values(
    board: RunsOnJudgedQueries, measured: Sequence[MeasuredRun], measures: Sequence[RequestedMeasure], unjudged: str
) -> Iterator[ScoringNote]:
    """Note unjudged documents, values above 1 and shares above 100%, by run."""
    cutoffs = sorted(
        {requested_measure.facts.cutoff for requested_measure in measures if requested_measure.facts.cutoff}
    )
    for run, values in zip(board.runs, measured, strict=True):
        yield from _note_unjudged_documents(run, cutoffs, unjudged)
        for measure in measures:
            if over := count_over_one(values.columns[measure.name].value) if len(measure.parts) == 1 else 0:
                what = f"{measure.name} is above 1 for {format_noun_count(over, 'query')}"
                text = f"{run.name}: {what}, because its list has documents that are not in the pool."
                yield ScoringNote("above_one", text, run.name, over, len(board.queries))
            if measure.is_ratio_of_means and (over := _count_queries_above_ceiling(values, measure.name)):
                text = (
                    f"{run.name} exceeds the ceiling {measure.name.removeprefix('%')} on "
                    f"{format_noun_count(over, 'query')}, because the run was not drawn from this pool."
                )
                yield ScoringNote("above_ceiling", text, run.name, over, len(board.queries))


def note_too_few_resamples(runs: int, resamples: int, test: str) -> Iterator[ScoringNote]:
    """Where the resamples of random signs are too few for the number of pairs."""
    if test == "randomization" and (pairs := comb(runs, 2)) and 2 * pairs / (resamples + 1) >= ALPHA:
        few = f"With {format_noun_count(pairs, 'pair')} of runs, {resamples:,} resamples are too few for significance"
        text = f"{few}: use --resamples {_count_resamples_to_reach_significance(pairs)}."
        yield ScoringNote("resamples", text, "", resamples)


def note_answered_queries(values: Sequence[RunMeasureValue], answered: int, total: int) -> Iterator[ScoringNote]:
    """Note how many queries the answers are about, and how many have all their evidence."""
    if answered < total:
        text = f"Answers are given for {answered:,} of {format_noun_count(total, 'judged query')}."
        yield ScoringNote("answers", text, "", answered, total)
    for value in values:
        if value.measure.startswith(ANSWERS):
            whole = f"{format_noun_count(value.n, 'query')} with all evidence found and an answer"
            text = f"{value.run}: {value.measure} covers {whole}."
            yield ScoringNote("answers_hit", text, value.run, value.n, total)


def _includes_set_measure(measures: Iterable[RequestedMeasure]) -> bool:
    return any(measure.facts.base.lstrip("%").startswith(("RA", "PROC")) for measure in measures)


def _note_rare_grade_weights(board: RunsOnJudgedQueries, total: int) -> Iterator[ScoringNote]:
    useful = board.counts[:, 2:].sum(axis=1) > 0
    if fallback := int((find_pools_without_grade_5(board.counts) & useful).sum()):
        these = f"{fallback:,} of {format_noun_count(total, 'query')}"
        text = f"{these} have no document of grade 5: for them, grade 4 has weight 1 and grade 3 has weight 0.2."
        yield ScoringNote("fallback", text, "", fallback, total)
    if inverted := int(find_inverted_weights(board.counts).sum()):
        text = (
            f"In {inverted:,} of {format_noun_count(total, 'query')}, grade 3 weighs more than grade 4 (grade "
            "inversion)."
        )
        yield ScoringNote("grade_inversion", text, "", inverted, total)


def _note_unjudged_documents(run: RunOnJudgedQueries, cutoffs: Sequence[int], how: str) -> Iterator[ScoringNote]:
    shares = [evaluate_graded([f"{JUDGED}@{k}"], run.graded)[f"{JUDGED}@{k}"] for k in cutoffs]
    defined = [share[~np.isnan(share)] for share in shares]
    means = [1 - float(share.mean()) for share in defined if len(share)]
    if any(mean > 0 for mean in means):
        these = join_words_with_and(
            [f"{format_percent(mean)} of the first {k}" for mean, k in zip(means, cutoffs, strict=True)]
        )
        text = f"{run.name}: {these} have no grade; {_TREATED[how]}."
        yield ScoringNote("unjudged", text, run.name, int((defined[-1] < 1).sum()), len(defined[-1]))


def _shorten_measure_names(meant: Sequence[RequestedMeasure], measures: Sequence[RequestedMeasure]) -> list[str]:
    """Names of measures; without their cutoffs where all cutoffs are meant."""
    names: dict[str, None] = {}
    for measure in meant:
        alike = [other for other in measures if other.facts.base == measure.facts.base]
        whole = len(alike) > 1 and all(other in meant for other in alike)
        names[measure.facts.base if whole else measure.name] = None
    return list(names)


def _count_queries_above_ceiling(measured: MeasuredRun, name: str) -> int:
    reached, ceiling = measured.columns[name].parts
    return int((reached > ceiling + ABOVE).sum())


def _count_resamples_to_reach_significance(pairs: int) -> int:
    # The least p is 2 / (resamples + 1), which Holm multiplies by the pairs; the power of ten from twice that on.
    return int(10 ** np.ceil(np.log10(2 * pairs / ALPHA * 2)))
